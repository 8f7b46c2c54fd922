#include <algorithm>

#include "base/error.h"
#include "vision/preprocess.h"
#include "workloads/tasks/labels.h"
#include "workloads/tasks/text_input.h"

namespace assay::workloads {
namespace {

struct Settings {
  vision::ImagePreprocessing preprocessing;
  DataKeys keys;
  std::vector<std::string> labels, metrics;
};

class PictureItem final : public Item {
 public:
  PictureItem(std::string id, const Settings& settings) : id_(std::move(id)), settings_(settings) {}
  std::optional<int64_t> truth;

  Prediction finish(std::span<const std::vector<RowOutput>> outputs) const override {
    const RowOutput& scores = outputs[0].at(0);
    require(scores.values.size() >= 2, ErrorCode::kInvalidArgument,
            "a classifier has one score a class, the model's output has shape {} a picture", scores.shape.str());
    Prediction p;
    p.id = id_;
    p.classes = top_classes(scores.values, 5);
    p.score = double{scores.values[static_cast<size_t>(p.classes[0])]};
    p.text = label_name(settings_.labels, p.classes[0]);
    if (truth) {
      const auto n = static_cast<int64_t>(scores.values.size());
      require(*truth < n, ErrorCode::kBadFile, "true class {}, the model scores {} classes", *truth, n);
      p.reference = {label_name(settings_.labels, *truth)};
      const bool among = std::find(p.classes.begin(), p.classes.end(), *truth) != p.classes.end();
      p.scores = {{"top_1", p.classes[0] == *truth ? 1.0 : 0.0}, {"top_5", among ? 1.0 : 0.0}};
    }
    return p;
  }

 private:
  std::string id_;
  const Settings& settings_;
};

class BoundPictures final : public BoundTask {
 public:
  BoundPictures(const Settings& settings, const Dataset& data, int64_t rows) : settings_(settings), data_(data) {
    image_ = data_column(data, settings.keys, "primary", {"image", "file", "image_file_path"});
    if (rows == 0) return;
    truth_ = read_classes(data, ref_column(data, settings.keys, {"label", "labels", "index"}), rows, settings.labels);
  }

  std::unique_ptr<Item> prepare(int64_t row) const override {
    const std::string& path = data_.text(row, image_);
    try {
      auto item = std::make_unique<PictureItem>(path.substr(path.rfind('/') + 1), settings_);
      item->features.push_back({{}, {}, vision::preprocess(vision::load_image(path), settings_.preprocessing)});
      const auto i = static_cast<size_t>(row);
      if (i < truth_.size()) item->truth = truth_[i];
      return item;
    } catch (Error& e) {
      throw e.at("sample", data_.where(row));
    }
  }

  std::vector<Metric> score(std::span<const Prediction> predictions) const override {
    std::vector<Metric> out;
    for (const std::string& m : settings_.metrics) {
      const size_t which = m == "top_5" ? 1 : 0;
      double right = 0;
      for (const Prediction& p : predictions) right += p.scores.at(which).second;
      out.push_back({m, predictions.empty() ? 0 : right / static_cast<double>(predictions.size())});
    }
    return out;
  }

 private:
  const Settings& settings_;
  const Dataset& data_;
  size_t image_ = 0;
  std::vector<int64_t> truth_;
};

class ImageClassification final : public Task {
 public:
  explicit ImageClassification(const TaskSetup& setup) {
    check_roles(setup.keys, {"primary"});
    require(!setup.info.preprocessor.empty(), ErrorCode::kNotFound,
            "no preprocessor_config.json lies in '{}' or travels in the model; it tells the size and normalisation the "
            "model was trained with (--preprocess FILE)",
            setup.info.folder.string());
    const SideFile& file = setup.info.preprocessor;
    s_.preprocessing =
        file.text.empty() ? vision::ImagePreprocessing::load(file.path) : vision::ImagePreprocessing::parse(file.text);
    s_.keys = setup.keys;
    s_.labels = setup.info.labels;
    s_.metrics = setup.metrics.empty() ? std::vector<std::string>{"top_1", "top_5"} : setup.metrics;
  }

  std::string_view name() const override { return "image-classification"; }
  std::unique_ptr<BoundTask> bind(const Dataset& data, int64_t rows) const override {
    return std::make_unique<BoundPictures>(s_, data, rows);
  }
  OutputChoice choose_outputs(const std::vector<Port>& outputs) const override {
    return {{find_output(outputs, "logits", 2)}, false};
  }
  std::map<std::string, std::string> definition() const override {
    return {{"input", s_.preprocessing.describe()},
            {"metric",
             "share of pictures whose class has the best score, or one of the five best; ties to the lower "
             "class"}};
  }
  int64_t chunk_rows() const override { return 32; }

 private:
  Settings s_;
};

const TaskRegistration kRegistered({"image-classification",
                                    {"top_1", "top_5", "accuracy"},
                                    [](const TaskSetup& setup) -> std::unique_ptr<Task> {
                                      return std::make_unique<ImageClassification>(setup);
                                    }});

}  // namespace
}  // namespace assay::workloads
