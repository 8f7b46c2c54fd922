#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "formats/onnx_read.h"
#include "formats/onnx_write.h"
#include "models/huggingface.h"

namespace assay {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kSource = ASSAY_SOURCE_DIR;

class Models : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = fmt::format("assay_models_{}_{}", info->name(), ::getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = fs::temp_directory_path() / name;
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

using Tensors = std::map<std::string, Tensor>;

/// Weights from a seed: uniform, scaled so that activations stay near one; norm scales near one.
class TensorMaker {
 public:
  explicit TensorMaker(DType dtype) : dtype_(dtype) {}
  void add(const std::string& name, const Shape& shape, float centre = 0, float spread = 0.3f) {
    Tensor t(dtype_, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) {
      const float v = rng_.uniform(centre - spread, centre + spread);
      auto* data = t.mutable_view().data;
      if (dtype_ == DType::kFloat32) static_cast<float*>(data)[i] = v;
      if (dtype_ == DType::kFloat16) static_cast<Float16*>(data)[i] = Float16(v);
      if (dtype_ == DType::kBfloat16) static_cast<Bfloat16*>(data)[i] = Bfloat16(v);
    }
    tensors[name] = t;
  }
  void linear(const std::string& name, int64_t in, int64_t out) {
    add(name + ".weight", Shape{out, in});
    add(name + ".bias", Shape{out});
  }
  void norm(const std::string& name, int64_t n, bool old = false) {
    add(name + (old ? ".gamma" : ".weight"), Shape{n}, 1);
    add(name + (old ? ".beta" : ".bias"), Shape{n});
  }

  Tensors tensors;

 private:
  DType dtype_;
  Rng rng_{42};
};

constexpr int64_t kHidden = 12, kInner = 20, kVocab = 50, kPositions = 40, kLabels = 5;

struct Case {
  std::string type, head, activation = "gelu";
  int opset = 17;
  DType dtype = DType::kFloat32;
  bool old_names = false, bare = false;
};

Json config_of(const Case& c) {
  const std::string prefix = c.type == "bert" ? "Bert" : c.type == "roberta" ? "Roberta" : "DistilBert";
  Json j = {{"model_type", c.type},
            {"architectures", {prefix + c.head}},
            {"vocab_size", kVocab},
            {"max_position_embeddings", kPositions}};
  if (c.head == "ForSequenceClassification" || c.head == "ForTokenClassification")
    for (int i = 0; i < kLabels; ++i) j["id2label"][std::to_string(i)] = fmt::format("name {}", i);
  if (c.type == "distilbert") {
    j.update({{"dim", kHidden},
              {"n_layers", 2},
              {"n_heads", 3},
              {"hidden_dim", kInner},
              {"activation", c.activation},
              {"pad_token_id", 0}});
  } else {
    j.update({{"hidden_size", kHidden},
              {"num_hidden_layers", 2},
              {"num_attention_heads", 3},
              {"intermediate_size", kInner},
              {"hidden_act", c.activation},
              {"layer_norm_eps", c.type == "bert" ? 1e-12 : 1e-5},
              {"type_vocab_size", c.type == "bert" ? 2 : 1},
              {"pad_token_id", c.type == "bert" ? 0 : 1}});
  }
  return j;
}

Tensors tensors_of(const Case& c) {
  TensorMaker m(c.dtype);
  const std::string p = c.bare ? "" : c.type + ".";
  m.add(p + "embeddings.word_embeddings.weight", Shape{kVocab, kHidden});
  m.add(p + "embeddings.position_embeddings.weight", Shape{kPositions, kHidden});
  if (c.type != "distilbert")
    m.add(p + "embeddings.token_type_embeddings.weight", Shape{c.type == "bert" ? 2 : 1, kHidden});
  m.norm(p + "embeddings.LayerNorm", kHidden, c.old_names);
  for (int i = 0; i < 2; ++i) {
    const bool distil = c.type == "distilbert";
    const std::string layer = p + (distil ? "transformer.layer." : "encoder.layer.") + std::to_string(i) + ".";
    const std::vector<std::string> names =
        distil
            ? std::vector<std::string>{"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
                                       "sa_layer_norm",   "ffn.lin1",        "ffn.lin2",        "output_layer_norm"}
            : std::vector<std::string>{
                  "attention.self.query",       "attention.self.key", "attention.self.value", "attention.output.dense",
                  "attention.output.LayerNorm", "intermediate.dense", "output.dense",         "output.LayerNorm"};
    for (size_t k : {0, 1, 2, 3}) m.linear(layer + names[k], kHidden, kHidden);
    m.linear(layer + names[5], kHidden, kInner);
    m.linear(layer + names[6], kInner, kHidden);
    m.norm(layer + names[4], kHidden, c.old_names);
    m.norm(layer + names[7], kHidden, c.old_names);
  }
  if (c.old_names) m.tensors[p + "embeddings.position_ids"] = Tensor(DType::kInt64, Shape{1, kPositions});
  if (c.type == "bert") m.linear(p + "pooler.dense", kHidden, kHidden);
  if (c.head == "ForQuestionAnswering") m.linear("qa_outputs", kHidden, 2);
  if (c.head == "ForTokenClassification") m.linear("classifier", kHidden, kLabels);
  if (c.head == "ForSequenceClassification") {
    if (c.type == "roberta") {
      m.linear("classifier.dense", kHidden, kHidden);
      m.linear("classifier.out_proj", kHidden, kLabels);
    } else {
      if (c.type == "distilbert") m.linear("pre_classifier", kHidden, kHidden);
      m.linear("classifier", kHidden, kLabels);
    }
  }
  return m.tensors;
}

void write_folder(const fs::path& folder, const Json& config, const Tensors& tensors) {
  write_text(folder / "config.json", config.dump());
  write_safetensors(folder / "model.safetensors", tensors);
}

/// Runs tests/formats/check_logits.py; its last line is the message of a failure.
::testing::AssertionResult logits_agree(const fs::path& folder, const fs::path& onnx) {
  const auto log = fs::path(onnx).concat(".log");
  const auto command =
      fmt::format("'{}' '{}' '{}' '{}' > '{}' 2>&1", (kSource / "build/venv/bin/python").string(),
                  (kSource / "tests/formats/check_logits.py").string(), folder.string(), onnx.string(), log.string());
  const int status = std::system(command.c_str());
  return (status == 0 ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << read_text(log);
}

bool have_python() { return fs::exists(kSource / "build/venv/bin/python"); }

class TinyModels : public Models, public ::testing::WithParamInterface<Case> {};

TEST_P(TinyModels, LogitsOfOnnxRuntimeEqualNumPy) {
  if (!have_python()) GTEST_SKIP() << "build/venv is absent: tools/setup.sh makes it";
  const Case& c = GetParam();
  write_folder(folder_, config_of(c), tensors_of(c));
  LoadOptions options;
  options.opset = c.opset;
  const LoadedModel loaded = load_model(folder_, options);
  EXPECT_EQ(loaded.format, "huggingface");
  EXPECT_EQ(loaded.model.metadata.at("assay.source_dtype"), to_string(c.dtype));
  loaded.model.graph.verify();
  write_onnx(loaded.model, folder_ / "model.onnx");
  EXPECT_TRUE(logits_agree(folder_, folder_ / "model.onnx"));
}

INSTANTIATE_TEST_SUITE_P(
    Heads, TinyModels,
    ::testing::Values(Case{"bert", "ForQuestionAnswering"}, Case{"bert", "ForSequenceClassification", "gelu_new"},
                      Case{"bert", "ForTokenClassification", "relu"},
                      Case{"bert", "Model", "gelu", 17, DType::kFloat16, true, true},
                      Case{"bert", "ForQuestionAnswering", "gelu", 28, DType::kBfloat16, true},
                      Case{"bert", "ForTokenClassification", "gelu_pytorch_tanh", 20},
                      Case{"distilbert", "ForQuestionAnswering"}, Case{"distilbert", "ForSequenceClassification"},
                      Case{"distilbert", "ForTokenClassification", "gelu", 21}, Case{"distilbert", "Model"},
                      Case{"roberta", "ForQuestionAnswering"}, Case{"roberta", "ForSequenceClassification"},
                      Case{"roberta", "ForTokenClassification", "gelu", 18, DType::kFloat16}, Case{"roberta", "Model"}),
    [](const auto& tested) {
      const Case& c = tested.param;
      return fmt::format("{}{}_{}_{}_{}{}", c.type, c.head, c.activation, c.opset, to_string(c.dtype),
                         c.bare ? "_bare" : "");
    });

TEST_F(Models, MinilmSquadGivesTheLogitsOfNumPy) {
  if (!have_python()) GTEST_SKIP() << "build/venv is absent: tools/setup.sh makes it";
  const auto model = kSource / "models/minilm-l6-squad";
  const LoadedModel loaded = load_model(model);
  EXPECT_EQ(loaded.info.task, "question-answering");
  EXPECT_EQ(loaded.info.max_positions, 512);
  EXPECT_EQ(loaded.info.tokenizer.path, model / "tokenizer.json");
  write_onnx(loaded.model, folder_ / "model.onnx");
  EXPECT_TRUE(logits_agree(model, folder_ / "model.onnx"));
  // The facts travel inside the file, where no config.json lies beside it.
  const LoadedModel converted = load_model(folder_ / "model.onnx");
  EXPECT_EQ(converted.info.task, "question-answering");
  EXPECT_EQ(converted.info.pad_id, 0);
  EXPECT_EQ(converted.info.type_vocab_size, 2);
}

TEST_F(Models, SharedClassifiersGiveTheLogitsOfNumPy) {
  if (!have_python()) GTEST_SKIP() << "build/venv is absent: tools/setup.sh makes it";
  for (const char* name : {"minilm-l4-sst2", "minilm-l4-wnut17"}) {
    const auto model = kSource / "../shared/models" / name;
    if (!fs::exists(model)) GTEST_SKIP() << model << " is absent";
    const LoadedModel loaded = load_model(model);
    EXPECT_EQ(loaded.info.labels.size(), name == std::string("minilm-l4-sst2") ? 2u : 13u);
    write_onnx(loaded.model, folder_ / "model.onnx");
    EXPECT_TRUE(logits_agree(model, folder_ / "model.onnx"));
  }
}

TEST_F(Models, ShardedCheckpointsEqualSingleOnes) {
  const Case c{"bert", "ForQuestionAnswering"};
  const Tensors all = tensors_of(c);
  write_folder(folder_, config_of(c), all);
  const std::string single = onnx_bytes(load_model(folder_).model);
  fs::remove(folder_ / "model.safetensors");
  Tensors shards[2];
  Json map = Json::object();
  int i = 0;
  for (const auto& [name, tensor] : all) {
    const int s = i++ % 2;
    shards[s][name] = tensor;
    map[name] = fmt::format("model-{}-of-2.safetensors", s + 1);
  }
  for (int s : {0, 1}) write_safetensors(folder_ / fmt::format("model-{}-of-2.safetensors", s + 1), shards[s]);
  write_text(folder_ / "model.safetensors.index.json", Json{{"metadata", Json::object()}, {"weight_map", map}}.dump());
  EXPECT_EQ(onnx_bytes(load_model(folder_).model), single);
}

TEST_F(Models, EqualMatricesAreOneConstant) {
  Case c{"bert", "Model"};
  Json config = config_of(c);
  config["intermediate_size"] = 2048;  // 96 KB a matrix
  Tensors tensors = tensors_of(c);
  TensorMaker m(DType::kFloat32);
  m.linear("up", kHidden, 2048);
  m.linear("down", 2048, kHidden);
  for (const char* layer : {"bert.encoder.layer.0.", "bert.encoder.layer.1."}) {
    tensors[std::string(layer) + "intermediate.dense.weight"] = m.tensors["up.weight"];
    tensors[std::string(layer) + "intermediate.dense.bias"] = m.tensors["up.bias"];
    tensors[std::string(layer) + "output.dense.weight"] = m.tensors["down.weight"];
  }
  write_folder(folder_, config, tensors);
  const LoadedModel loaded = load_model(folder_);
  const Graph& g = loaded.model.graph;
  std::vector<ValueId> ups;
  for (size_t i = 0; i < g.node_slots(); ++i) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.is("MatMul") && n.name.find("intermediate") != std::string::npos) ups.push_back(n.inputs[1]);
  }
  ASSERT_EQ(ups.size(), 2u);
  EXPECT_EQ(ups[0], ups[1]);
}

/// One change to a good folder, and what the message must name.
struct Fault {
  std::string name;
  void (*change)(Json& config, Tensors& tensors);
  ErrorCode code;
  std::vector<std::string> words;
};

class FaultyFolders : public Models, public ::testing::WithParamInterface<Fault> {};

TEST_P(FaultyFolders, AreRefusedByName) {
  const Case c{"bert", "ForTokenClassification"};
  Json config = config_of(c);
  Tensors tensors = tensors_of(c);
  GetParam().change(config, tensors);
  write_folder(folder_, config, tensors);
  try {
    load_model(folder_);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), GetParam().code) << e.what();
    for (const auto& word : GetParam().words) EXPECT_THAT(e.what(), HasSubstr(word));
    EXPECT_THAT(e.what(), HasSubstr(folder_.filename().string()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FaultyFolders,
    ::testing::Values(
        Fault{"model_type",
              [](Json& j, Tensors&) { j["model_type"] = "albert"; },
              ErrorCode::kUnsupported,
              {"albert", "bert, distilbert, roberta"}},
        Fault{"no_model_type", [](Json& j, Tensors&) { j.erase("model_type"); }, ErrorCode::kBadFile, {"model_type"}},
        Fault{"head",
              [](Json& j, Tensors&) { j["architectures"][0] = "BertForMaskedLM"; },
              ErrorCode::kUnsupported,
              {"BertForMaskedLM", "BertForQuestionAnswering"}},
        Fault{"activation",
              [](Json& j, Tensors&) { j["hidden_act"] = "silu"; },
              ErrorCode::kUnsupported,
              {"silu", "gelu_new"}},
        Fault{"positions",
              [](Json& j, Tensors&) { j["position_embedding_type"] = "relative_key"; },
              ErrorCode::kUnsupported,
              {"relative_key", "absolute"}},
        Fault{"decoder", [](Json& j, Tensors&) { j["is_decoder"] = true; }, ErrorCode::kUnsupported, {"is_decoder"}},
        Fault{"quantized",
              [](Json& j, Tensors&) { j["quantization_config"] = Json::object(); },
              ErrorCode::kUnsupported,
              {"quantization_config"}},
        Fault{"heads", [](Json& j, Tensors&) { j["num_attention_heads"] = 5; }, ErrorCode::kBadFile, {"12", "5 heads"}},
        Fault{"huge", [](Json& j, Tensors&) { j["hidden_size"] = 1e30; }, ErrorCode::kBadFile, {"hidden_size"}},
        Fault{"negative", [](Json& j, Tensors&) { j["vocab_size"] = -4; }, ErrorCode::kBadFile, {"vocab_size", "-4"}},
        Fault{"layers",
              [](Json& j, Tensors&) { j["num_hidden_layers"] = 1; },
              ErrorCode::kBadFile,
              {"encoder.layer.1.", "no place"}},
        Fault{"missing",
              [](Json&, Tensors& all) { all.erase("bert.encoder.layer.1.output.dense.weight"); },
              ErrorCode::kBadFile,
              {"bert.encoder.layer.1.output.dense.weight", "[12,20]", "missing"}},
        Fault{"extra",
              [](Json&, Tensors& all) { all["adapter.weight"] = Tensor(DType::kFloat32, Shape{2}); },
              ErrorCode::kBadFile,
              {"adapter.weight"}},
        Fault{"shape",
              [](Json&, Tensors& all) {
                all["bert.embeddings.position_embeddings.weight"] = Tensor(DType::kFloat32, Shape{8, 12});
              },
              ErrorCode::kBadFile,
              {"position_embeddings", "[8,12]", "[40,12]"}},
        Fault{"integer_weight",
              [](Json&, Tensors& all) { all["classifier.bias"] = Tensor(DType::kInt8, Shape{5}); },
              ErrorCode::kBadFile,
              {"classifier.bias", "int8"}},
        Fault{
            "labels", [](Json& j, Tensors&) { j["id2label"].erase("4"); }, ErrorCode::kBadFile, {"id2label", "4", "5"}},
        Fault{"label_ids",
              [](Json& j, Tensors&) {
                j["id2label"] = {{"1", "a"}, {"7", "b"}};
              },
              ErrorCode::kBadFile,
              {"id2label", "7"}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay
