#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "formats/model_info.h"
#include "tensor/tensor.h"
#include "text/tokenizer.h"
#include "workloads/data/dataset.h"

namespace assay::workloads {

/// One model input row: token ids and types, or a picture [3, height, width].
struct Feature {
  std::vector<int64_t> ids = {}, type_ids = {};
  Tensor pixels = {};
  int64_t length() const { return static_cast<int64_t>(ids.size()); }
};

/// What the model said about one row: one entry an output that the task chose. Outputs per token are cut to the row's
/// own length.
struct RowOutput {
  Shape shape;  ///< without the batch dimension
  std::vector<float> values;
};

/// A result for one sample. Which fields are set depends on the task.
struct Prediction {
  std::string id;                        ///< question id, or the row number
  std::string text;                      ///< answer, or predicted label
  double score = 0;                      ///< sum of start and end logit; logit of the label; value of a regression
  std::vector<int64_t> classes = {};     ///< classification: ids of at most five classes, best first
  std::vector<std::string> labels = {};  ///< token classification: one a word
  int64_t begin = -1, end = -1;          ///< question answering: bytes of the passage
  std::vector<std::pair<std::string, double>> alternatives = {};  ///< question answering: n-best texts and scores
  std::vector<std::string> reference = {};                        ///< accepted answers, true label(s)
  std::vector<std::pair<std::string, double>> scores = {};        ///< measures of this sample alone
};

struct Metric {
  std::string name;
  double value = 0;
};

/// A sample made ready for the model.
class Item {
 public:
  virtual ~Item() = default;
  std::vector<Feature> features;  ///< at least one
  /// The prediction from the model's outputs, one list a feature. InvalidArgument when their shapes are not the task's.
  virtual Prediction finish(std::span<const std::vector<RowOutput>> outputs) const = 0;
};

/// A task bound to a data set (which must outlive it). Const members may be called from many threads at once.
class BoundTask {
 public:
  virtual ~BoundTask() = default;
  /// Reads and preprocesses one row. Errors name it.
  virtual std::unique_ptr<Item> prepare(int64_t row) const = 0;
  /// Metrics over the predictions of rows 0, 1, ... in order.
  virtual std::vector<Metric> score(std::span<const Prediction> predictions) const = 0;
  /// What happened on the way that a person should know ("12 texts were cut at 512 tokens").
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Which outputs of a model a task reads.
struct OutputChoice {
  std::vector<size_t> index;
  bool per_token = false;  ///< the dimension after the batch runs over tokens
};

/// How a kind of question is put to a model and its answers judged. Knows no engine.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view name() const = 0;
  /// Resolves columns and checks every reference of the first `rows` rows, before any compute.
  virtual std::unique_ptr<BoundTask> bind(const Dataset& data, int64_t rows) const = 0;
  /// InvalidArgument naming the model's outputs when they do not fit the task.
  virtual OutputChoice choose_outputs(const std::vector<Port>& outputs) const = 0;
  /// Everything that the numbers depend on besides model and data, for reports.
  virtual std::map<std::string, std::string> definition() const = 0;
  /// The token that fills up shorter rows of a batch.
  virtual int64_t pad_id() const { return 0; }
  /// Rows that may be held in memory at once.
  virtual int64_t chunk_rows() const { return 1024; }
};

/// How an answer's text is cut from the passage.
enum class AnswerAlignment {
  kOffsets,  ///< from the first byte of the first token to the last of the last
  kWords,    ///< the same, widened to whole pre-tokenized words (the Hugging Face pipeline)
  kBert      ///< whitespace words, then the character alignment of BERT's run_squad (MLPerf)
};
/// "offsets", "words", "bert"; the reverse refuses others naming the nearest.
std::string_view to_string(AnswerAlignment alignment);
AnswerAlignment answer_alignment(std::string_view name);

struct QuestionAnsweringOptions {
  int64_t stride = 128;         ///< a passage window begins every so many tokens
  int64_t question_limit = 64;  ///< tokens of the question that are kept
  int64_t n_best = 20;          ///< starts and ends that are paired
  int64_t max_answer = 30;      ///< tokens
  AnswerAlignment alignment = AnswerAlignment::kOffsets;
  /// Of overlapping windows only the one that sees most around a token may start an answer there (BERT's run_squad and
  /// MLPerf). Off: any window may, the best score wins (the Hugging Face pipeline).
  bool max_context = false;
};

/// What a task is made from.
struct TaskSetup {
  ModelInfo info = {};
  /// Read from info.tokenizer when absent.
  std::shared_ptr<const text::Tokenizer> tokenizer = {};
  DataKeys keys = {};
  /// Names of metrics; empty: the task's usual ones.
  std::vector<std::string> metrics = {};
  /// Tokens a row; absent: 384 for question answering, else what the model has positions for. InvalidArgument beyond
  /// the model's positions.
  std::optional<int64_t> max_length = {};
  /// Text and token classification: cut longer texts (and say so in a note); off: InvalidArgument for them.
  bool truncate = true;
  /// Text classification: one score instead of classes; absent: as the model says.
  std::optional<bool> is_regression = {};
  QuestionAnsweringOptions question_answering = {};
};

/// Makes a task by name. InvalidArgument naming the nearest for an unknown name, metric or data role; NotFound when
/// the model lacks a tokenizer or preprocessor config that the task needs.
std::unique_ptr<Task> make_task(std::string_view name, const TaskSetup& setup);
/// "image-classification", "question-answering", ..., sorted.
std::vector<std::string> task_names();
/// The metric names a task knows, its usual ones first.
std::vector<std::string> metric_names(std::string_view task);

/// A kind of task; adds itself as a static object in its own file.
struct TaskKind {
  std::string_view name;
  std::vector<std::string> metrics;
  std::unique_ptr<Task> (*make)(const TaskSetup& setup) = nullptr;
};
class TaskRegistration {
 public:
  explicit TaskRegistration(TaskKind kind);
};

}  // namespace assay::workloads
