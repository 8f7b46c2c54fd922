#include "runs/run_config.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"

namespace assay::runs {
namespace {

[[noreturn]] void wrong(const std::string& message) { throw Error(ErrorCode::kInvalidArgument, message); }

std::string kind_of(const Json& v) {
  if (v.is_number_integer()) return "an integer";
  if (v.is_number()) return "a number";
  if (v.is_boolean()) return "true or false";
  if (v.is_string()) return "text";
  if (v.is_array()) return "a list";
  if (v.is_object()) return "a map";
  return "nothing";
}

std::string text(const Json& v) {
  if (!v.is_string()) wrong("takes text, not " + kind_of(v));
  return v.get<std::string>();
}

bool flag(const Json& v) {
  if (!v.is_boolean()) wrong("takes true or false, not " + kind_of(v));
  return v.get<bool>();
}

int64_t integer(const Json& v, int64_t lo, int64_t hi) {
  if (!v.is_number_integer()) wrong("takes an integer, not " + kind_of(v));
  const auto i = v.get<int64_t>();
  if (i < lo || i > hi) wrong(fmt::format("is {}, outside {} to {}", i, lo, hi));
  return i;
}

double number(const Json& v, double lo, double hi) {
  if (!v.is_number()) wrong("takes a number, not " + kind_of(v));
  const auto d = v.get<double>();
  if (!(d >= lo && d <= hi)) wrong(fmt::format("is {}, outside {} to {}", d, lo, hi));
  return d;
}

std::vector<std::string> texts(const Json& v) {
  if (!v.is_array()) wrong("takes a list of texts, not " + kind_of(v));
  std::vector<std::string> out;
  for (const Json& item : v) out.push_back(text(item));
  return out;
}

std::vector<int64_t> integers(const Json& v, int64_t lo, int64_t hi) {
  if (!v.is_array() || v.empty())
    wrong("takes a list of integers, not " + (v.is_array() ? std::string("an empty one") : kind_of(v)));
  std::vector<int64_t> out;
  for (const Json& item : v) out.push_back(integer(item, lo, hi));
  return out;
}

std::string one_of(const Json& v, const std::vector<std::string>& allowed) {
  const std::string s = text(v);
  if (std::find(allowed.begin(), allowed.end(), s) == allowed.end())
    wrong(fmt::format("'{}' is not a value it takes{}", s, nearest_hint(s, allowed)));
  return s;
}

CalibrationConfig& calibration(RunConfig& c) {
  if (!c.calibration) c.calibration.emplace();
  return *c.calibration;
}

/// A field of the run file: where it goes, and what it takes.
struct Field {
  std::string name;
  std::string help;
  bool required = false;
  std::function<void(RunConfig&, const Json&)> set;
};

const std::vector<std::string> kTasks = {"question-answering", "text-classification", "token-classification",
                                         "image-classification"};

std::vector<Field> make_fields() {
  return {
      {"model_name_or_path", "model file or folder", true,
       [](RunConfig& c, const Json& v) { c.model_name_or_path = text(v); }},
      {"task", "question-answering, text-classification, token-classification or image-classification", true,
       [](RunConfig& c, const Json& v) { c.task = one_of(v, kTasks); }},
      {"task_args.is_regression", "text-classification: the label is a number", false,
       [](RunConfig& c, const Json& v) { c.is_regression = flag(v); }},
      {"metrics", "names of the task's metrics", true, [](RunConfig& c, const Json& v) { c.metrics = texts(v); }},
      {"dataset.path", "folder or file of the data", true,
       [](RunConfig& c, const Json& v) { c.dataset.path = text(v); }},
      {"dataset.name", "a name for the report", false, [](RunConfig& c, const Json& v) { c.dataset.name = text(v); }},
      {"dataset.eval_split", "file in the folder, rows as in dev.json[:100]", false,
       [](RunConfig& c, const Json& v) { c.dataset.eval_split = text(v); }},
      {"dataset.calibration_split", "the same for calibration", false,
       [](RunConfig& c, const Json& v) { c.dataset.calibration_split = text(v); }},
      {"dataset.data_keys", "role: column, e.g. {question: question, context: context}", true,
       [](RunConfig& c, const Json& v) {
         if (!v.is_object()) wrong("takes a map of role to column, not " + kind_of(v));
         for (const auto& [role, column] : v.items())
           if (!column.is_null()) c.dataset.data_keys[role] = text(column);
       }},
      {"dataset.ref_keys", "the column of references", true,
       [](RunConfig& c, const Json& v) { c.dataset.ref_keys = texts(v); }},
      {"quantization_approach", "dynamic or static", true,
       [](RunConfig& c, const Json& v) {
         c.scheme.approach =
             one_of(v, {"dynamic", "static"}) == "static" ? quant::Approach::kStatic : quant::Approach::kDynamic;
       }},
      {"operators_to_quantize", "operator types, e.g. [Add, MatMul]", false,
       [](RunConfig& c, const Json& v) {
         c.scheme.operators = texts(v);
         quant::check_operators(c.scheme.operators);
       }},
      {"node_exclusion", "layernorm, gelu, residual, gather, softmax, node names or globs", false,
       [](RunConfig& c, const Json& v) {
         c.scheme.exclude_nodes.clear();
         c.scheme.exclude_patterns.clear();
         for (const std::string& item : texts(v)) c.scheme.add_exclusion(item);
       }},
      {"per_channel", "one weight scale per output channel", false,
       [](RunConfig& c, const Json& v) { c.scheme.per_channel = flag(v); }},
      {"reduce_range", "weights on 7 bits", false,
       [](RunConfig& c, const Json& v) { c.scheme.reduce_range = flag(v); }},
      {"weights_dtype", "int8 or uint8", false,
       [](RunConfig& c, const Json& v) {
         c.scheme.weight_type = one_of(v, {"int8", "uint8"}) == "int8" ? DType::kInt8 : DType::kUint8;
       }},
      {"weights_symmetric", "symmetric weight codes (default: when int8)", false,
       [](RunConfig& c, const Json& v) { c.scheme.weight_symmetric = flag(v); }},
      {"activations_dtype", "static: uint8 or int8", false,
       [](RunConfig& c, const Json& v) {
         c.scheme.activation_type = one_of(v, {"int8", "uint8"}) == "int8" ? DType::kInt8 : DType::kUint8;
       }},
      {"activations_symmetric", "static: symmetric activation codes", false,
       [](RunConfig& c, const Json& v) { c.scheme.activation_symmetric = flag(v); }},
      {"activation_scale", "dynamic: row (each token its own scale) or tensor", false,
       [](RunConfig& c, const Json& v) {
         c.scheme.activation_scale =
             one_of(v, {"row", "tensor"}) == "row" ? quant::ActivationScale::kRow : quant::ActivationScale::kTensor;
       }},
      {"aware_training", "must be false: models are quantized after training", false,
       [](RunConfig&, const Json& v) {
         if (flag(v)) wrong("is true, but quantization-aware training is not done here; set it to false");
       }},
      {"calibration.method", "minmax", false,
       [](RunConfig& c, const Json& v) { calibration(c).method = one_of(v, {"minmax"}); }},
      {"calibration.num_calibration_samples", "samples of the calibration split", false,
       [](RunConfig& c, const Json& v) { calibration(c).num_calibration_samples = integer(v, 1, 1'000'000); }},
      {"calibration.calibration_moving_average", "average the ranges of batches", false,
       [](RunConfig& c, const Json& v) { calibration(c).moving_average = !v.is_null() && flag(v); }},
      {"calibration.calibration_moving_average_constant", "weight of a new batch, 0 to 1", false,
       [](RunConfig& c, const Json& v) {
         if (!v.is_null()) calibration(c).moving_average_constant = number(v, 0, 1);
       }},
      {"calibration.calibration_histogram_percentile", "must be empty: only min-max calibration is here", false,
       [](RunConfig&, const Json& v) {
         if (!v.is_null()) wrong("is set, but the only calibration method here is minmax; remove it");
       }},
      {"framework", "assay", false, [](RunConfig&, const Json& v) { one_of(v, {"assay"}); }},
      {"framework_args.opset", "opset of the graph made for a checkpoint", false,
       [](RunConfig& c, const Json& v) { c.opset = static_cast<int>(integer(v, 17, 28)); }},
      {"framework_args.optimization_level", "kept for the report; the engine always optimizes", false,
       [](RunConfig&, const Json& v) { integer(v, 0, 99); }},
      {"framework_args.intra_op_num_threads", "threads", false,
       [](RunConfig& c, const Json& v) { c.threads = static_cast<int>(integer(v, 1, 1024)); }},
      {"max_eval_samples", "rows of the evaluation split", false,
       [](RunConfig& c, const Json& v) {
         if (!v.is_null()) c.max_eval_samples = integer(v, 1, 1'000'000'000);
       }},
      {"batch_sizes", "list for the time benchmark", false,
       [](RunConfig& c, const Json& v) { c.batch_sizes = integers(v, 1, 65536); }},
      {"input_lengths", "list for the time benchmark", false,
       [](RunConfig& c, const Json& v) { c.input_lengths = integers(v, 1, 1 << 20); }},
      {"time_benchmark_args.duration", "seconds per batch, length and model", false,
       [](RunConfig& c, const Json& v) { c.duration_s = number(v, 0, 86400); }},
      {"time_benchmark_args.warmup_runs", "untimed passes first", false,
       [](RunConfig& c, const Json& v) { c.warmup_runs = integer(v, 0, 1'000'000); }},
  };
}

const std::vector<Field>& fields() {
  static const std::vector<Field> kFields = make_fields();
  return kFields;
}

const Field* find_field(std::string_view name) {
  for (const Field& f : fields())
    if (f.name == name) return &f;
  return nullptr;
}

bool is_group(std::string_view name) {
  return std::any_of(fields().begin(), fields().end(), [&](const Field& f) {
    return f.name.size() > name.size() && f.name.starts_with(name) && f.name[name.size()] == '.';
  });
}

std::vector<std::string> names_at(std::string_view prefix) {
  std::vector<std::string> names;
  for (const Field& f : fields()) {
    if (!f.name.starts_with(prefix)) continue;
    std::string rest = f.name.substr(prefix.size());
    rest = rest.substr(0, rest.find('.'));
    if (std::find(names.begin(), names.end(), rest) == names.end()) names.push_back(rest);
  }
  if (prefix.empty()) names.insert(names.end(), {"sweep", "title"});
  return names;
}

/// All leaves of the fields as dotted names, groups opened.
void flatten(const Json& map, const std::string& prefix,
             const std::function<void(const std::string&, const Json&)>& visit) {
  for (const auto& [key, value] : map.items()) {
    const std::string name = prefix + key;
    if (find_field(name) != nullptr) {
      visit(name, value);
    } else if (is_group(name)) {
      if (value.is_null()) continue;
      if (!value.is_object())
        throw Error(ErrorCode::kInvalidArgument, "takes a map, not " + kind_of(value)).at("field", name);
      flatten(value, name + ".", visit);
    } else {
      throw Error(ErrorCode::kInvalidArgument, "is no field of a run file" + nearest_hint(key, names_at(prefix)))
          .at("field", name);
    }
  }
}

/// Gives an error its line and file.
[[noreturn]] void place(const RunFile& run, Error& e, const std::string& fallback_path = {}) {
  std::string path = fallback_path;
  for (const auto& [kind, name] : e.context())
    if (kind == "field") path = name;
  const YamlDocument lines{nullptr, run.lines};
  for (const std::string& p : {"sweep." + path, path}) {
    if (run.lines.contains(p)) {
      e.at("line", std::to_string(run.lines.at(p)));
      throw e.at("file", run.file);
    }
  }
  if (const int line = lines.line_of(path); line > 0) e.at("line", std::to_string(line));
  throw e.at("file", run.file);
}

}  // namespace

size_t RunFile::cells() const {
  size_t n = 1;
  for (const SweptField& f : sweep) n *= f.values.size();
  return n;
}

std::vector<Json> RunFile::values(size_t cell) const {
  std::vector<Json> out(sweep.size());
  for (size_t i = sweep.size(); i-- > 0;) {
    out[i] = sweep[i].values[cell % sweep[i].values.size()];
    cell /= sweep[i].values.size();
  }
  return out;
}

RunConfig RunFile::config(size_t cell) const {
  RunConfig c;
  c.scheme.activation_type = DType::kInt8;  // Optimum's defaults, where they are not ours
  c.scheme.operators = {"Add", "MatMul"};
  c.scheme.exclude_patterns = {Pattern::kLayerNorm, Pattern::kGelu, Pattern::kResidual, Pattern::kGather,
                               Pattern::kSoftmax};
  std::map<std::string, Json> given;
  try {
    flatten(fields, "", [&](const std::string& name, const Json& value) { given[name] = value; });
    const auto chosen = values(cell);
    for (size_t i = 0; i < sweep.size(); ++i) given[sweep[i].name] = chosen[i];
    for (const Field& f : runs::fields()) {
      const auto it = given.find(f.name);
      if (it == given.end()) {
        if (f.required) throw Error(ErrorCode::kInvalidArgument, "is missing: " + f.help).at("field", f.name);
        continue;
      }
      try {
        f.set(c, it->second);
      } catch (Error& e) {
        throw e.at("field", f.name);
      }
    }
    if (c.scheme.approach == quant::Approach::kDynamic) c.scheme.activation_type = DType::kUint8;  // as ONNX defines it
    c.scheme.check();
    if (c.scheme.approach == quant::Approach::kStatic) {
      if (!c.calibration)
        throw Error(ErrorCode::kInvalidArgument, "is missing, and static quantization needs it")
            .at("field", "calibration");
      if (!c.dataset.calibration_split)
        throw Error(ErrorCode::kInvalidArgument, "is missing, and static quantization needs it")
            .at("field", "dataset.calibration_split");
    }
    if (c.dataset.ref_keys.size() != 1)
      throw Error(ErrorCode::kInvalidArgument, "takes exactly one column").at("field", "dataset.ref_keys");
    if (c.metrics.empty()) throw Error(ErrorCode::kInvalidArgument, "is empty").at("field", "metrics");
    if (c.task == "text-classification" && !given.contains("task_args.is_regression"))
      throw Error(ErrorCode::kInvalidArgument, "must be given for text-classification")
          .at("field", "task_args.is_regression");
  } catch (Error& e) {
    place(*this, e);
  }
  return c;
}

RunFile parse_run_file(std::string_view content, const std::string& file) {
  YamlDocument document = parse_yaml(content, file);
  RunFile run;
  run.file = file;
  run.lines = std::move(document.lines);
  try {
    if (!document.value.is_object()) wrong("a run file is a map of fields, not " + kind_of(document.value));
    run.fields = std::move(document.value);
    if (run.fields.contains("title")) {
      try {
        run.title = text(run.fields["title"]);
      } catch (Error& e) {
        throw e.at("field", "title");
      }
      run.fields.erase("title");
    }
    if (run.fields.contains("sweep")) {
      const Json sweep = run.fields["sweep"];
      run.fields.erase("sweep");
      if (!sweep.is_object())
        throw Error(ErrorCode::kInvalidArgument, "takes a map of field to list, not " + kind_of(sweep))
            .at("field", "sweep");
      flatten(sweep, "", [&](const std::string& name, const Json& value) {
        if (!value.is_array() || value.empty())
          throw Error(ErrorCode::kInvalidArgument, "under sweep takes a list of alternatives with at least one")
              .at("field", name);
        if (name == "model_name_or_path" || name == "task" || name.starts_with("dataset.") || name == "metrics" ||
            name == "batch_sizes" || name == "input_lengths" || name.starts_with("time_benchmark_args"))
          throw Error(ErrorCode::kInvalidArgument,
                      "cannot be swept: every cell is compared with the same original on the same data")
              .at("field", name);
        run.sweep.push_back({name, std::vector<Json>(value.begin(), value.end())});
      });
    }
    flatten(run.fields, "", [&](const std::string& name, const Json&) {
      for (const SweptField& s : run.sweep)
        if (s.name == name)
          throw Error(ErrorCode::kInvalidArgument, "is given both as a field and under sweep").at("field", name);
    });
    require(run.cells() <= 10'000, ErrorCode::kInvalidArgument, "the sweep has {} cells, more than 10000", run.cells());
  } catch (Error& e) {
    place(run, e);
  }
  for (size_t i = 0; i < run.cells(); ++i) run.config(i);  // every value of every cell, before any work starts
  return run;
}

RunFile read_run_file(const std::filesystem::path& path) {
  return parse_run_file(read_text(path, 1 << 20), path.string());
}

std::vector<std::pair<std::string, std::string>> run_file_fields() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Field& f : fields()) out.emplace_back(f.name, f.help + (f.required ? " (required)" : ""));
  out.emplace_back("sweep", "field: list of alternatives, for any field of the model's treatment");
  out.emplace_back("title", "a name for the report");
  return out;
}

}  // namespace assay::runs
