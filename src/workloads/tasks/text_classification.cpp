#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "workloads/metrics/classification.h"
#include "workloads/tasks/labels.h"
#include "workloads/tasks/text_input.h"

namespace assay::workloads {
namespace {

struct Settings {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  DataKeys keys;
  std::vector<std::string> labels, metrics;
  int64_t max_length = 0, vocab_size = 0, pad_id = 0;
  bool truncate = true, regression = false;
};

class TextItem final : public Item {
 public:
  TextItem(int64_t row, const Settings& settings) : row_(row), settings_(settings) {}
  std::optional<int64_t> true_class;
  std::optional<double> true_value;

  Prediction finish(std::span<const std::vector<RowOutput>> outputs) const override {
    const RowOutput& logits = outputs[0].at(0);
    Prediction p;
    p.id = std::to_string(row_);
    if (settings_.regression) {
      require(logits.values.size() == 1, ErrorCode::kInvalidArgument,
              "a regression has one score, the model's output has shape {} a row", logits.shape.str());
      p.score = double{logits.values[0]};
      p.text = fmt::format("{}", p.score);
      if (true_value) p.reference = {fmt::format("{}", *true_value)};
      return p;
    }
    require(logits.shape.rank() == 1 && logits.values.size() >= 2, ErrorCode::kInvalidArgument,
            "a classifier has one score a class, the model's output has shape {} a row", logits.shape.str());
    require(settings_.labels.empty() || settings_.labels.size() == logits.values.size(), ErrorCode::kInvalidArgument,
            "the model names {} labels and scores {} classes", settings_.labels.size(), logits.values.size());
    p.classes = top_classes(logits.values, 5);
    p.score = double{logits.values[static_cast<size_t>(p.classes[0])]};
    p.text = label_name(settings_.labels, p.classes[0]);
    if (true_class) {
      p.reference = {label_name(settings_.labels, *true_class)};
      p.scores = {{"accuracy", p.classes[0] == *true_class ? 1.0 : 0.0}};
    }
    return p;
  }

 private:
  int64_t row_;
  const Settings& settings_;
};

class BoundTexts final : public BoundTask {
 public:
  BoundTexts(const Settings& settings, const Dataset& data, int64_t rows) : settings_(settings), data_(data) {
    primary_ = data_column(data, settings.keys, "primary",
                           {"sentence", "text", "sentence1", "premise", "question1", "question", "review"});
    const auto given = settings.keys.data.find("secondary");
    if (given != settings.keys.data.end()) {
      if (!given->second.empty()) secondary_ = data.column(given->second);
    } else {
      for (const char* name : {"sentence2", "hypothesis", "question2"})
        if (!secondary_ && data.has(name)) secondary_ = data.column(name);
    }
    if (rows == 0) return;
    const size_t label = ref_column(data, settings.keys, {"label", "labels", "score"});
    if (settings.regression)
      values_ = read_values(data, label, rows);
    else
      classes_ = read_classes(data, label, rows, settings.labels);
  }

  std::unique_ptr<Item> prepare(int64_t row) const override {
    try {
      text::EncodeOptions options;
      if (settings_.truncate && settings_.max_length > 0)
        options.truncation = text::Truncation{.max_length = static_cast<size_t>(settings_.max_length)};
      const std::string& first = data_.text(row, primary_);
      const text::Encoding e = secondary_ ? settings_.tokenizer->encode(first, data_.text(row, *secondary_), options)
                                          : settings_.tokenizer->encode(first, options);
      if (!e.overflowing.empty()) ++cut_;
      require(settings_.max_length <= 0 || static_cast<int64_t>(e.size()) <= settings_.max_length,
              ErrorCode::kInvalidArgument, "the text has {} tokens, the limit is {}", e.size(), settings_.max_length);
      auto item = std::make_unique<TextItem>(row, settings_);
      item->features.push_back(text_feature(e, settings_.vocab_size));
      const auto i = static_cast<size_t>(row);
      if (i < classes_.size()) item->true_class = classes_[i];
      if (i < values_.size()) item->true_value = values_[i];
      return item;
    } catch (Error& e) {
      throw e.at("sample", data_.where(row));
    }
  }

  std::vector<Metric> score(std::span<const Prediction> predictions) const override {
    std::vector<Metric> out;
    if (settings_.regression) {
      std::vector<double> p;
      for (const Prediction& x : predictions) p.push_back(x.score);
      const std::span<const double> r(values_.data(), p.size());
      for (const std::string& m : settings_.metrics)
        out.push_back({m, m == "pearson" ? pearson(p, r) : spearman(p, r)});
      return out;
    }
    std::vector<int64_t> p;
    for (const Prediction& x : predictions) p.push_back(x.classes.at(0));
    const std::span<const int64_t> r(classes_.data(), p.size());
    const auto largest = [](std::span<const int64_t> v) {
      return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
    };
    const bool binary = settings_.labels.empty() ? std::max(largest(p), largest(r)) <= 1 : settings_.labels.size() == 2;
    for (const std::string& m : settings_.metrics) {
      double v = 0;
      if (m == "accuracy") v = accuracy(p, r);
      if (m == "f1") v = binary ? f1_of_class(p, r, 1) : f1_macro(p, r);
      if (m == "f1_macro") v = f1_macro(p, r);
      if (m == "f1_weighted") v = f1_weighted(p, r);
      if (m == "matthews_correlation") v = matthews_correlation(p, r);
      out.push_back({m, v});
    }
    return out;
  }

  std::vector<std::string> notes() const override {
    if (cut_ == 0) return {};
    return {fmt::format("{} texts were cut at {} tokens", cut_.load(), settings_.max_length)};
  }

 private:
  const Settings& settings_;
  const Dataset& data_;
  size_t primary_ = 0;
  std::optional<size_t> secondary_;
  std::vector<int64_t> classes_;
  std::vector<double> values_;
  mutable std::atomic<int64_t> cut_{0};
};

class TextClassification final : public Task {
 public:
  explicit TextClassification(const TaskSetup& setup) {
    check_roles(setup.keys, {"primary", "secondary"});
    s_.regression =
        setup.is_regression.value_or(setup.info.problem_type == "regression" || setup.info.labels.size() == 1);
    s_.metrics = setup.metrics;
    if (s_.metrics.empty())
      s_.metrics =
          s_.regression ? std::vector<std::string>{"pearson", "spearmanr"} : std::vector<std::string>{"accuracy"};
    for (const std::string& m : s_.metrics) {
      const bool of_regression = m == "pearson" || m == "spearmanr";
      require(of_regression == s_.regression, ErrorCode::kInvalidArgument, "metric '{}' is for {}, this is {}", m,
              of_regression ? "regression" : "classes", s_.regression ? "regression" : "classification");
    }
    s_.tokenizer = task_tokenizer(setup);
    s_.keys = setup.keys;
    s_.labels = setup.info.labels;
    s_.max_length = task_max_length(setup, 0);
    s_.vocab_size = setup.info.vocab_size;
    s_.pad_id = task_pad_id(setup, *s_.tokenizer);
    s_.truncate = setup.truncate;
  }

  std::string_view name() const override { return "text-classification"; }
  std::unique_ptr<BoundTask> bind(const Dataset& data, int64_t rows) const override {
    return std::make_unique<BoundTexts>(s_, data, rows);
  }
  OutputChoice choose_outputs(const std::vector<Port>& outputs) const override {
    return {{find_output(outputs, "logits", 2)}, false};
  }
  std::map<std::string, std::string> definition() const override {
    return {{"input", s_.max_length > 0
                          ? fmt::format("{} at {} tokens", s_.truncate ? "cut" : "refused beyond", s_.max_length)
                          : "not cut"},
            {"metric", s_.regression ? "correlation of the model's score with the reference"
                                     : "largest logit, ties to the lower class; f1 of class 1 for two classes, macro "
                                       "for more"}};
  }
  int64_t pad_id() const override { return s_.pad_id; }

 private:
  Settings s_;
};

const TaskRegistration kRegistered(
    {"text-classification",
     {"accuracy", "f1", "f1_macro", "f1_weighted", "matthews_correlation", "pearson", "spearmanr"},
     [](const TaskSetup& setup) -> std::unique_ptr<Task> { return std::make_unique<TextClassification>(setup); }});

}  // namespace
}  // namespace assay::workloads
