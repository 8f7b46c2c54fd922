#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "workloads/metrics/entities.h"
#include "workloads/tasks/labels.h"
#include "workloads/tasks/text_input.h"

namespace assay::workloads {
namespace {

struct Settings {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  DataKeys keys;
  std::vector<std::string> labels, metrics;
  std::string outside;  ///< the label of words that have no token
  int64_t max_length = 0, vocab_size = 0, pad_id = 0;
  bool truncate = true;
};

class WordsItem final : public Item {
 public:
  WordsItem(int64_t row, const Settings& settings) : row_(row), settings_(settings) {}
  std::vector<int64_t> first_token;  ///< of each word in the row; -1: none, or cut off
  const std::vector<std::string>* truth = nullptr;

  Prediction finish(std::span<const std::vector<RowOutput>> outputs) const override {
    const RowOutput& logits = outputs[0].at(0);
    require(logits.shape.rank() == 2 && logits.shape[1] == static_cast<int64_t>(settings_.labels.size()),
            ErrorCode::kInvalidArgument, "the model names {} labels, its output has shape {} a row",
            settings_.labels.size(), logits.shape.str());
    Prediction p;
    p.id = std::to_string(row_);
    const auto classes = static_cast<size_t>(logits.shape[1]);
    int64_t same = 0;
    for (size_t w = 0; w < first_token.size(); ++w) {
      std::string label = settings_.outside;
      if (first_token[w] >= 0) {
        const std::span scores(logits.values.data() + static_cast<size_t>(first_token[w]) * classes, classes);
        label = settings_.labels[static_cast<size_t>(top_classes(scores, 1)[0])];
      }
      if (truth != nullptr && label == (*truth)[w]) ++same;
      p.labels.push_back(std::move(label));
    }
    if (truth != nullptr) {
      p.reference = *truth;
      p.scores = {{"accuracy", truth->empty() ? 1.0 : static_cast<double>(same) / static_cast<double>(truth->size())}};
    }
    return p;
  }

 private:
  int64_t row_;
  const Settings& settings_;
};

class BoundWords final : public BoundTask {
 public:
  BoundWords(const Settings& settings, const Dataset& data, int64_t rows) : settings_(settings), data_(data) {
    words_ = data_column(data, settings.keys, "primary", {"tokens", "words"});
    if (rows == 0) return;
    const size_t column = ref_column(data, settings.keys, {"ner_tags", "tags", "labels", "label"});
    for (int64_t r = 0; r < rows; ++r) truth_.push_back(read_labels(r, column));
    check_known();
  }

  std::unique_ptr<Item> prepare(int64_t row) const override {
    try {
      const auto& words = words_of(row);
      std::string joined;
      std::vector<size_t> begins;
      for (const std::string& w : words) {
        if (!begins.empty()) joined += ' ';
        begins.push_back(joined.size());
        joined += w;
      }
      text::EncodeOptions options;
      if (settings_.truncate && settings_.max_length > 0)
        options.truncation = text::Truncation{.max_length = static_cast<size_t>(settings_.max_length)};
      const text::Encoding e = settings_.tokenizer->encode(joined, options);
      if (!e.overflowing.empty()) ++cut_;
      require(settings_.max_length <= 0 || static_cast<int64_t>(e.size()) <= settings_.max_length,
              ErrorCode::kInvalidArgument, "the sentence has {} tokens, the limit is {}", e.size(),
              settings_.max_length);
      auto item = std::make_unique<WordsItem>(row, settings_);
      item->features.push_back(text_feature(e, settings_.vocab_size));
      item->first_token.assign(words.size(), -1);
      size_t w = 0;
      for (size_t t = 0; t < e.size(); ++t) {
        if (e.sequence_ids[t] != 0 || e.byte_offsets[t].begin == e.byte_offsets[t].end) continue;
        // Tokens come in order; a token belongs to the first word that it touches.
        const auto [begin, end] = e.byte_offsets[t];
        while (w < words.size() && begins[w] + words[w].size() <= begin) ++w;
        for (size_t k = w; k < words.size() && begins[k] < end; ++k) {
          if (words[k].empty()) continue;
          if (item->first_token[k] < 0) item->first_token[k] = static_cast<int64_t>(t);
          break;
        }
      }
      const auto i = static_cast<size_t>(row);
      if (i < truth_.size()) item->truth = &truth_[i];
      return item;
    } catch (Error& e) {
      throw e.at("sample", data_.where(row));
    }
  }

  std::vector<Metric> score(std::span<const Prediction> predictions) const override {
    std::vector<std::vector<std::string>> p, r;
    for (const Prediction& x : predictions) {
      p.push_back(x.labels);
      r.push_back(x.reference);
    }
    const EntityScores s = score_entities(p, r);
    std::vector<Metric> out;
    for (const std::string& m : settings_.metrics) {
      const bool all = m == "seqeval";
      if (all || m == "precision") out.push_back({"precision", s.precision});
      if (all || m == "recall") out.push_back({"recall", s.recall});
      if (all || m == "f1") out.push_back({"f1", s.f1});
      if (all || m == "accuracy") out.push_back({"accuracy", s.accuracy});
    }
    return out;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out = notes_;
    if (cut_ > 0)
      out.push_back(fmt::format("{} sentences were cut at {} tokens; words beyond count as '{}'", cut_.load(),
                                settings_.max_length, settings_.outside));
    return out;
  }

 private:
  const std::vector<std::string>& words_of(int64_t row) const {
    const auto* words = std::get_if<std::vector<std::string>>(&data_.at(row, words_));
    require(words != nullptr, ErrorCode::kBadFile, "'{}', {}: column '{}' should hold a list of words", data_.source,
            data_.where(row), data_.columns[words_]);
    return *words;
  }

  std::vector<std::string> read_labels(int64_t row, size_t column) const {
    const Cell& cell = data_.at(row, column);
    std::vector<std::string> out;
    if (const auto* names = std::get_if<std::vector<std::string>>(&cell)) {
      out = *names;
    } else if (const auto* ids = std::get_if<std::vector<int64_t>>(&cell)) {
      for (int64_t id : *ids) {
        require(id >= 0 && id < static_cast<int64_t>(settings_.labels.size()), ErrorCode::kBadFile,
                "'{}', {}: label {}, the model has {}", data_.source, data_.where(row), id, settings_.labels.size());
        out.push_back(settings_.labels[static_cast<size_t>(id)]);
      }
    } else {
      fail(ErrorCode::kBadFile, "'{}', {}: column '{}' should hold a list of labels", data_.source, data_.where(row),
           data_.columns[column]);
    }
    require(out.size() == words_of(row).size(), ErrorCode::kBadFile, "'{}', {}: {} labels for {} words", data_.source,
            data_.where(row), out.size(), words_of(row).size());
    return out;
  }

  /// Labels that the model cannot give make every such entity a miss: said, and refused when nothing fits.
  void check_known() {
    int64_t known = 0, unknown = 0;
    std::string example;
    for (const auto& sentence : truth_) {
      for (const std::string& label : sentence) {
        if (label == "O") continue;
        if (std::find(settings_.labels.begin(), settings_.labels.end(), label) != settings_.labels.end()) {
          ++known;
        } else if (unknown++ == 0) {
          example = label;
        }
      }
    }
    require(known > 0 || unknown == 0, ErrorCode::kInvalidArgument,
            "none of the labels in '{}' (such as '{}') is one of the model's", data_.source, example);
    if (unknown > 0)
      notes_.push_back(
          fmt::format("{} words have a label that the model does not know (such as '{}')", unknown, example));
  }

  const Settings& settings_;
  const Dataset& data_;
  size_t words_ = 0;
  std::vector<std::vector<std::string>> truth_;
  std::vector<std::string> notes_;
  mutable std::atomic<int64_t> cut_{0};
};

class TokenClassification final : public Task {
 public:
  explicit TokenClassification(const TaskSetup& setup) {
    check_roles(setup.keys, {"primary"});
    s_.metrics = setup.metrics.empty() ? std::vector<std::string>{"seqeval"} : setup.metrics;
    s_.tokenizer = task_tokenizer(setup);
    s_.keys = setup.keys;
    s_.labels = setup.info.labels;
    require(!s_.labels.empty(), ErrorCode::kInvalidArgument,
            "the model's config names no labels (id2label), without them entities mean nothing");
    const bool has_outside = std::find(s_.labels.begin(), s_.labels.end(), "O") != s_.labels.end();
    s_.outside = has_outside ? "O" : s_.labels[0];
    s_.max_length = task_max_length(setup, 0);
    s_.vocab_size = setup.info.vocab_size;
    s_.pad_id = task_pad_id(setup, *s_.tokenizer);
    s_.truncate = setup.truncate;
  }

  std::string_view name() const override { return "token-classification"; }
  std::unique_ptr<BoundTask> bind(const Dataset& data, int64_t rows) const override {
    return std::make_unique<BoundWords>(s_, data, rows);
  }
  OutputChoice choose_outputs(const std::vector<Port>& outputs) const override {
    return {{find_output(outputs, "logits", 3)}, true};
  }
  std::map<std::string, std::string> definition() const override {
    return {{"input", fmt::format("words joined by spaces, label of a word's first token, {}",
                                  s_.max_length > 0 ? fmt::format("cut at {} tokens", s_.max_length) : "not cut")},
            {"metric", "entities by conlleval's rules (seqeval, default mode), micro average; accuracy over words"}};
  }
  int64_t pad_id() const override { return s_.pad_id; }

 private:
  Settings s_;
};

const TaskRegistration kRegistered({"token-classification",
                                    {"seqeval", "precision", "recall", "f1", "accuracy"},
                                    [](const TaskSetup& setup) -> std::unique_ptr<Task> {
                                      return std::make_unique<TokenClassification>(setup);
                                    }});

}  // namespace
}  // namespace assay::workloads
