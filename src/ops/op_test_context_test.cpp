#include <sstream>

#include "ops/convert.h"
#include "ops/op_test_context.h"

namespace assay {
namespace {

constexpr int kNewest = 28;

std::string trim(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(s.substr(begin, s.find_last_not_of(" \t") - begin + 1));
}

std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = s.find(separator);
    parts.push_back(trim(s.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

DType dtype_of(const std::string& word) {
  static const std::map<std::string, DType> kNames = {
      {"f32", DType::kFloat32}, {"f64", DType::kFloat64}, {"f16", DType::kFloat16},       {"bf16", DType::kBfloat16},
      {"i8", DType::kInt8},     {"u8", DType::kUint8},    {"i16", DType::kInt16},         {"u16", DType::kUint16},
      {"i32", DType::kInt32},   {"u32", DType::kUint32},  {"i64", DType::kInt64},         {"u64", DType::kUint64},
      {"bool", DType::kBool},   {"str", DType::kString},  {"i4", DType::kInt4},           {"u4", DType::kUint4},
      {"i2", DType::kInt2},     {"u2", DType::kUint2},    {"e4m3", DType::kFloat8E4M3FN}, {"e5m2", DType::kFloat8E5M2}};
  const auto it = kNames.find(word);
  require(it != kNames.end(), ErrorCode::kInvalidArgument, "no type '{}'", word);
  return it->second;
}

Attribute attribute_of(const std::string& text) {
  const auto is_number = [](const std::string& s) {
    return s.find_first_not_of("-+.0123456789e") == std::string::npos;
  };
  if (text.front() == '[') {
    const std::string body = text.substr(1, text.size() - 2);
    if (body.empty()) return std::vector<int64_t>{};
    const auto parts = split(body, ',');
    if (!is_number(parts[0])) return parts;
    if (body.find('.') != std::string::npos) {
      std::vector<float> v;
      for (const auto& p : parts) v.push_back(std::stof(p));
      return v;
    }
    std::vector<int64_t> v;
    for (const auto& p : parts) v.push_back(std::stoll(p));
    return v;
  }
  if (!is_number(text) || text == "-") return text;
  if (text.find('.') != std::string::npos) return std::stof(text);
  return static_cast<int64_t>(std::stoll(text));
}

struct Case {
  std::string op;
  int version = kNewest;
  Attributes attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::string error;
};

Case case_of(const std::string& line) {
  Case c;
  const size_t bar = line.find('|');
  const size_t arrow = line.rfind("->");
  require(bar != std::string::npos && arrow != std::string::npos, ErrorCode::kInvalidArgument, "no | or -> in '{}'",
          line);
  std::istringstream head(line.substr(0, bar));
  head >> c.op;
  if (const size_t at = c.op.find('@'); at != std::string::npos) {
    c.version = std::stoi(c.op.substr(at + 1));
    c.op.resize(at);
  }
  for (std::string word; head >> word;) {
    const size_t equals = word.find('=');
    c.attributes[word.substr(0, equals)] = attribute_of(word.substr(equals + 1));
  }
  const std::string inputs = trim(line.substr(bar + 1, arrow - bar - 1));
  if (!inputs.empty())
    for (const auto& t : split(inputs, ';')) c.inputs.push_back(t == "-" ? Tensor{} : tensor_of(t));
  const std::string outputs = trim(line.substr(arrow + 2));
  if (outputs.rfind("error", 0) == 0) {
    c.error = trim(outputs.substr(5));
  } else {
    for (const auto& t : split(outputs, ';')) c.outputs.push_back(tensor_of(t));
  }
  return c;
}

void expect_same(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(to_string(got.dtype()), to_string(wanted.dtype()));
  ASSERT_EQ(got.shape().str(), wanted.shape().str());
  if (got.dtype() == DType::kString) {
    for (int64_t i = 0; i < got.elements(); ++i) EXPECT_EQ(got.string_at(i), wanted.string_at(i)) << "element " << i;
    return;
  }
  Tensor g(DType::kFloat64, got.shape()), w(DType::kFloat64, got.shape());
  convert_elements(got, g.mutable_view(), true);
  convert_elements(wanted, w.mutable_view(), true);
  const bool half = got.dtype() == DType::kFloat16 || got.dtype() == DType::kBfloat16;
  const bool exact = !is_float(got.dtype());
  for (size_t i = 0; i < g.values<double>().size(); ++i) {
    const double a = g.values<double>()[i], b = w.values<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double limit = exact ? 0 : (half ? 1e-2 : 1e-5) * std::fabs(b) + 1e-6;
    EXPECT_LE(std::fabs(a - b), limit) << "element " << i << ": " << a << " instead of " << b;
  }
}

}  // namespace

Tensor tensor_of(std::string_view text) {
  const size_t open = text.find('['), close = text.find(']');
  require(open != std::string_view::npos && close != std::string_view::npos, ErrorCode::kInvalidArgument,
          "no shape in '{}'", text);
  const DType dtype = dtype_of(trim(text.substr(0, open)));
  Shape shape;
  const std::string dims(text.substr(open + 1, close - open - 1));
  if (!trim(dims).empty())
    for (const auto& d : split(dims, ',')) shape.push_back(std::stoll(d));
  std::istringstream rest{std::string(text.substr(close + 1))};
  std::vector<std::string> words;
  for (std::string w; rest >> w;) words.push_back(w);
  const auto n = static_cast<size_t>(shape.elements());
  if (words.size() == 1 && n > 1) words.resize(n, words[0]);
  require(words.size() == n, ErrorCode::kInvalidArgument, "{} values do not fill '{}'", words.size(), text);
  if (dtype == DType::kString) return Tensor::strings(shape, words);
  Tensor t(dtype, shape);
  for (size_t i = 0; i < n; ++i) {
    const bool wide = dtype == DType::kInt64 || dtype == DType::kUint64;
    if (wide) {
      const int64_t v = dtype == DType::kUint64 ? static_cast<int64_t>(std::stoull(words[i])) : std::stoll(words[i]);
      static_cast<int64_t*>(t.mutable_view().data)[i] = v;
      continue;
    }
    const double v = std::stod(words[i]);
    if (is_packed_integer(dtype)) {
      write_packed(t.mutable_view().data, dtype, static_cast<int64_t>(i), static_cast<int32_t>(v));
      continue;
    }
    auto* at = static_cast<std::byte*>(t.mutable_view().data) + i * static_cast<size_t>(bits_of(dtype) / 8);
    convert_elements({DType::kFloat64, Shape{}, &v}, {dtype, Shape{}, at}, true);
  }
  return t;
}

std::vector<Tensor> run_op(std::string_view op_type, int version, const Attributes& attributes,
                           const std::vector<Tensor>& inputs, size_t outputs, bool constants, std::string_view domain,
                           kernels::Isa isa, int threads) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& t : inputs) {
    if (!t) {
      ids.push_back(kNoValue);
    } else {
      ids.push_back(constants ? graph.add_constant(t) : graph.add_value());
    }
  }
  const NodeId id = graph.add_node(std::string(op_type), ids, outputs, "n", std::string(domain), version);
  graph.node(id).attributes = attributes;
  const OpFactory factory = find_op(domain, op_type, version);
  require(factory != nullptr, ErrorCode::kUnsupported, "no operator {} at version {}", op_type, version);
  const auto op = factory(OpInit{graph, graph.node(id), isa, {}});
  TestContext context(inputs, outputs, threads);
  op->run(context);
  std::vector<Tensor> results;
  for (size_t i = 0; i < context.result_count(); ++i) results.push_back(context.result(i));
  return results;
}

void run_cases(std::string_view text) {
  std::istringstream lines{std::string(text)};
  int run = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string body = trim(line);
    if (body.empty() || body[0] == '#') continue;
    SCOPED_TRACE(body);
    ++run;
    // Once with inputs known only at run time, once as constants that an operator may prepare.
    for (const bool constants : {false, true}) {
      try {
        const Case c = case_of(body);
        const auto got =
            run_op(c.op, c.version, c.attributes, c.inputs, std::max<size_t>(1, c.outputs.size()), constants);
        if (!c.error.empty()) {
          ADD_FAILURE() << "no error";
          continue;
        }
        ASSERT_GE(got.size(), c.outputs.size());
        for (size_t i = 0; i < c.outputs.size(); ++i) expect_same(got[i], c.outputs[i]);
      } catch (const Error& e) {
        const Case c = case_of(body);
        if (c.error.empty()) {
          ADD_FAILURE() << e.what();
        } else {
          EXPECT_NE(std::string(e.what()).find(c.error), std::string::npos) << e.what();
        }
      }
    }
  }
  EXPECT_GT(run, 0) << "no cases";
}

TEST(OpCases, ReadsItsOwnText) {
  EXPECT_EQ(tensor_of("i64[2] -1 2").values<int64_t>()[0], -1);
  EXPECT_EQ(tensor_of("f32[3] 7").values<float>()[2], 7.0f);
  EXPECT_EQ(read_packed(tensor_of("i4[3] 1 -8 7").data(), DType::kInt4, 1), -8);
  EXPECT_THROW(tensor_of("f32[2] 1 2 3"), Error);
}

}  // namespace assay
