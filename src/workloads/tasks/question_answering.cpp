#include <algorithm>
#include <set>

#include "base/error.h"
#include "workloads/metrics/squad.h"
#include "workloads/tasks/answer_search.h"
#include "workloads/tasks/bert_alignment.h"
#include "workloads/tasks/text_input.h"
#include "workloads/tasks/windows.h"

namespace assay::workloads {
namespace {

struct Settings {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  PairTemplate around;
  QuestionAnsweringOptions options;
  DataKeys keys;
  std::vector<std::string> metrics;
  int64_t max_length = 0, vocab_size = 0, pad_id = 0;
  bool lower_case = true;
};

/// Cuts an answer's text from the passage.
class Cutter {
 public:
  Cutter(const std::string& passage, const text::Encoding& tokens, const Settings& settings)
      : passage_(passage), settings_(settings), offsets_(tokens.byte_offsets) {
    if (settings.options.alignment == AnswerAlignment::kWords) words_ = tokens.word_ids;
    if (settings.options.alignment == AnswerAlignment::kBert) pieces_ = tokens.tokens;
  }

  /// Bytes of tokens [first, last] of the passage.
  std::pair<int64_t, int64_t> bytes(int64_t first, int64_t last) const {
    auto a = static_cast<size_t>(first), b = static_cast<size_t>(last);
    if (!words_.empty()) {
      while (a > 0 && words_[a] >= 0 && words_[a - 1] == words_[a]) --a;
      while (b + 1 < words_.size() && words_[b] >= 0 && words_[b + 1] == words_[b]) ++b;
    }
    // Offsets are of the original text; they never run backwards, but a file's tokenizer may give an empty last token.
    const int64_t begin = offsets_[a].begin, end = std::max<int64_t>(offsets_[b].end, begin);
    const auto size = static_cast<int64_t>(passage_.size());
    return {std::min(begin, size), std::min(end, size)};
  }

  std::string text(int64_t first, int64_t last) const {
    const auto [begin, end] = bytes(first, last);
    if (pieces_.empty()) return passage_.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    return align_answer(joined_pieces(first, last), whitespace_words(begin, end), settings_.lower_case);
  }

 private:
  std::string joined_pieces(int64_t first, int64_t last) const {
    std::string out;
    for (int64_t t = first; t <= last; ++t) {
      const std::string& piece = pieces_[static_cast<size_t>(t)];
      if (piece.substr(0, 2) == "##")
        out += piece.substr(2);
      else
        out += (out.empty() ? "" : " ") + piece;
    }
    return out;
  }

  /// BERT splits passages at these characters.
  static size_t white(std::string_view s, size_t i) {
    if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || s[i] == '\n') return 1;
    return s.substr(i, 3) == "\xe2\x80\xaf" ? 3 : 0;
  }

  /// The words that the bytes touch, joined by single spaces.
  std::string whitespace_words(int64_t begin, int64_t end) const {
    std::vector<std::pair<size_t, size_t>> words;
    size_t from = 0;
    for (size_t i = 0; i <= passage_.size();) {
      const size_t skip = i < passage_.size() ? white(passage_, i) : 1;
      if (skip == 0) {
        ++i;
        continue;
      }
      if (i > from) words.emplace_back(from, i);
      i += skip;
      from = i;
    }
    std::string out;
    for (const auto& [a, b] : words)
      if (static_cast<int64_t>(a) < end && static_cast<int64_t>(b) > begin)
        out += (out.empty() ? "" : " ") + passage_.substr(a, b - a);
    return out;
  }

  const std::string& passage_;
  const Settings& settings_;
  std::vector<text::Span> offsets_;
  std::vector<int32_t> words_;
  std::vector<std::string> pieces_;
};

class QuestionItem final : public Item {
 public:
  QuestionItem(std::string id, const std::string& question, const std::string& passage, const Answers* answers,
               const Settings& settings)
      : QuestionItem(std::move(id), question, passage, answers, settings,
                     settings.tokenizer->encode(passage, {.add_special_tokens = false, .truncation = {}})) {}

  Prediction finish(std::span<const std::vector<RowOutput>> outputs) const override {
    struct Found {
      SpanCandidate span;  // in passage tokens
    };
    std::vector<Found> found;
    for (size_t w = 0; w < windows_.size(); ++w) {
      std::vector<float> start, end;
      read_logits(outputs[w], features[w].length(), start, end);
      for (SpanCandidate c : answer_candidates(start, end, passage_at_, owned_[w], settings_.options.n_best,
                                               settings_.options.max_answer)) {
        const int64_t shift = windows_[w].begin - passage_at_;
        c.first += shift;
        c.last += shift;
        found.push_back({c});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.span.score > b.span.score; });
    Prediction p;
    p.id = id_;
    std::set<std::string> seen;
    for (const Found& f : found) {
      if (static_cast<int64_t>(p.alternatives.size()) >= settings_.options.n_best) break;
      std::string text = cutter_.text(f.span.first, f.span.last);
      if (!seen.insert(text).second) continue;
      if (p.alternatives.empty()) {
        p.text = text;
        p.score = f.span.score;
        std::tie(p.begin, p.end) = cutter_.bytes(f.span.first, f.span.last);
      }
      p.alternatives.emplace_back(std::move(text), f.span.score);
    }
    if (answers_ != nullptr) {
      p.reference = answers_->texts;
      p.scores = {{"exact_match", 100 * squad_exact_match(p.text, p.reference)},
                  {"f1", 100 * squad_f1(p.text, p.reference)}};
    }
    return p;
  }

 private:
  QuestionItem(std::string id, const std::string& question, const std::string& passage, const Answers* answers,
               const Settings& s, const text::Encoding& tokens)
      : id_(std::move(id)), answers_(answers), settings_(s), cutter_(passage, tokens, s) {
    const text::Encoding q = s.tokenizer->encode(question, {.add_special_tokens = false, .truncation = {}});
    // At least one passage token must fit beside the question.
    const int64_t most = s.max_length > 0 ? s.max_length - s.around.special_count() - 1 : s.options.question_limit;
    const auto kept = std::min({static_cast<int64_t>(q.size()), s.options.question_limit, most});
    const auto total = static_cast<int64_t>(tokens.size());
    const int64_t room =
        s.max_length > 0 ? s.max_length - s.around.special_count() - kept : std::max<int64_t>(total, 1);
    windows_ = passage_windows(total, room, s.options.stride);
    const auto owner = best_window(windows_, total);
    passage_at_ = static_cast<int64_t>(s.around.prefix.size()) + kept + static_cast<int64_t>(s.around.middle.size());
    for (size_t w = 0; w < windows_.size(); ++w) {
      const auto [begin, count] = windows_[w];
      Feature f;
      const auto add = [&f](const std::vector<int64_t>& ids, const std::vector<int64_t>& types) {
        f.ids.insert(f.ids.end(), ids.begin(), ids.end());
        f.type_ids.insert(f.type_ids.end(), types.begin(), types.end());
      };
      add(s.around.prefix, s.around.prefix_types);
      f.ids.insert(f.ids.end(), q.ids.begin(), q.ids.begin() + kept);
      f.type_ids.resize(f.ids.size(), s.around.first_type);
      add(s.around.middle, s.around.middle_types);
      f.ids.insert(f.ids.end(), tokens.ids.begin() + begin, tokens.ids.begin() + begin + count);
      f.type_ids.resize(f.ids.size(), s.around.second_type);
      add(s.around.suffix, s.around.suffix_types);
      require(!f.ids.empty(), ErrorCode::kInvalidArgument, "question and passage are empty and give no tokens");
      check_ids(f, s.vocab_size);
      features.push_back(std::move(f));
      std::vector<bool> mine(static_cast<size_t>(count));
      for (int64_t t = 0; t < count; ++t)
        mine[static_cast<size_t>(t)] =
            !s.options.max_context || owner[static_cast<size_t>(begin + t)] == static_cast<int64_t>(w);
      owned_.push_back(std::move(mine));
    }
  }

  /// Two outputs [tokens], or one [tokens, 2].
  static void read_logits(const std::vector<RowOutput>& outputs, int64_t length, std::vector<float>& start,
                          std::vector<float>& end) {
    if (outputs.size() == 2) {
      for (const RowOutput& o : outputs)
        require(o.values.size() == static_cast<size_t>(length), ErrorCode::kInvalidArgument,
                "start and end logits should be one number a token, a row has shape {}", o.shape.str());
      start = outputs[0].values;
      end = outputs[1].values;
      return;
    }
    const RowOutput& o = outputs.at(0);
    require(o.shape.rank() == 2 && o.shape[1] == 2, ErrorCode::kInvalidArgument,
            "a single output should be [batch, tokens, 2], a row has shape {}", o.shape.str());
    for (size_t t = 0; t < static_cast<size_t>(length); ++t) {
      start.push_back(o.values[2 * t]);
      end.push_back(o.values[2 * t + 1]);
    }
  }

  std::string id_;
  const Answers* answers_;
  const Settings& settings_;
  Cutter cutter_;
  int64_t passage_at_ = 0;  ///< where the passage begins in every row
  std::vector<Window> windows_;
  std::vector<std::vector<bool>> owned_;
};

class BoundQuestions final : public BoundTask {
 public:
  BoundQuestions(const Settings& settings, const Dataset& data, int64_t rows) : settings_(settings), data_(data) {
    question_ = data_column(data, settings.keys, "question", {"question"});
    context_ = data_column(data, settings.keys, "context", {"context", "passage"});
    if (data.has("id")) id_ = data.column("id");
    if (rows == 0 && settings.keys.ref.empty() && !data.has("answers")) return;  // calibration needs no references
    answers_ = ref_column(data, settings.keys, {"answers"});
    read_.resize(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) {
      read_[static_cast<size_t>(r)] = read_answers(r);
      require(!read_[static_cast<size_t>(r)].texts.empty(), ErrorCode::kBadFile,
              "'{}', {}: the question has no accepted answer (SQuAD v1.1 has at least one)", data.source,
              data.where(r));
    }
  }

  std::unique_ptr<Item> prepare(int64_t row) const override {
    std::string id = std::to_string(row);
    if (id_) {
      const Cell& cell = data_.at(row, *id_);
      if (const auto* s = std::get_if<std::string>(&cell)) id = *s;
      if (const auto* n = std::get_if<int64_t>(&cell)) id = std::to_string(*n);
    }
    const auto i = static_cast<size_t>(row);
    try {
      return std::make_unique<QuestionItem>(std::move(id), data_.text(row, question_), data_.text(row, context_),
                                            i < read_.size() ? &read_[i] : nullptr, settings_);
    } catch (Error& e) {
      throw e.at("sample", data_.where(row));
    }
  }

  std::vector<Metric> score(std::span<const Prediction> predictions) const override {
    double em = 0, f1 = 0;
    for (const Prediction& p : predictions) {
      em += squad_exact_match(p.text, p.reference);
      f1 += squad_f1(p.text, p.reference);
    }
    const double n = std::max<double>(static_cast<double>(predictions.size()), 1);
    std::vector<Metric> out;
    for (const std::string& m : settings_.metrics) {
      if (m == "exact_match" || m == "squad") out.push_back({"exact_match", 100 * em / n});
      if (m == "f1" || m == "squad") out.push_back({"f1", 100 * f1 / n});
    }
    return out;
  }

 private:
  Answers read_answers(int64_t row) const {
    const Cell& cell = data_.at(row, *answers_);
    if (const auto* a = std::get_if<Answers>(&cell)) return *a;
    if (const auto* list = std::get_if<std::vector<std::string>>(&cell)) return {*list, {}};
    return {{data_.text(row, *answers_)}, {}};
  }

  const Settings& settings_;
  const Dataset& data_;
  size_t question_ = 0, context_ = 0;
  std::optional<size_t> id_, answers_;
  std::vector<Answers> read_;
};

class QuestionAnswering final : public Task {
 public:
  explicit QuestionAnswering(const TaskSetup& setup) {
    check_roles(setup.keys, {"question", "context"});
    s_.options = setup.question_answering;
    const auto& o = s_.options;
    require(o.stride >= 1 && o.question_limit >= 0 && o.n_best >= 1 && o.max_answer >= 1, ErrorCode::kInvalidArgument,
            "question answering with stride {}, question limit {}, n-best {}, answers of {} tokens finds nothing",
            o.stride, o.question_limit, o.n_best, o.max_answer);
    s_.tokenizer = task_tokenizer(setup);
    s_.around = pair_template(*s_.tokenizer);
    s_.keys = setup.keys;
    s_.metrics = setup.metrics.empty() ? std::vector<std::string>{"exact_match", "f1"} : setup.metrics;
    s_.max_length = task_max_length(setup, 384);
    require(s_.max_length > s_.around.special_count(), ErrorCode::kInvalidArgument,
            "rows of {} tokens have no room for a passage: the tokenizer adds {} special tokens", s_.max_length,
            s_.around.special_count());
    s_.vocab_size = setup.info.vocab_size;
    s_.pad_id = task_pad_id(setup, *s_.tokenizer);
    s_.lower_case = setup.info.do_lower_case.value_or(true);
  }

  std::string_view name() const override { return "question-answering"; }
  std::unique_ptr<BoundTask> bind(const Dataset& data, int64_t rows) const override {
    return std::make_unique<BoundQuestions>(s_, data, rows);
  }

  OutputChoice choose_outputs(const std::vector<Port>& outputs) const override {
    std::optional<size_t> start, end;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].name.find("start") != std::string::npos) start = i;
      if (outputs[i].name.find("end") != std::string::npos) end = i;
    }
    if (start && end && *start != *end) return {{*start, *end}, true};
    if (outputs.size() == 1) return {{0}, true};
    fail(ErrorCode::kInvalidArgument,
         "question answering reads outputs start_logits and end_logits, or one of [batch, tokens, 2]; the model's "
         "outputs are {}",
         describe(outputs));
  }

  std::map<std::string, std::string> definition() const override {
    const auto& o = s_.options;
    return {
        {"windows", fmt::format("{} tokens, a window every {} tokens of the passage, questions cut at {} tokens",
                                s_.max_length, o.stride, o.question_limit)},
        {"answers", fmt::format("{} best starts x {} best ends, {}, at most {} tokens, "
                                "highest sum of logits, text by {}",
                                o.n_best, o.n_best,
                                o.max_context ? "starts owned by the window with most context" : "starts of any window",
                                o.max_answer, to_string(o.alignment))},
        {"metric", "SQuAD v1.1, percent, best over the accepted answers"}};
  }
  int64_t pad_id() const override { return s_.pad_id; }
  int64_t chunk_rows() const override { return 256; }

 private:
  Settings s_;
};

const TaskRegistration kRegistered({"question-answering",
                                    {"exact_match", "f1", "squad"},
                                    [](const TaskSetup& setup) -> std::unique_ptr<Task> {
                                      return std::make_unique<QuestionAnswering>(setup);
                                    }});

}  // namespace
}  // namespace assay::workloads
