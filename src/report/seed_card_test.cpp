#include "report/seed_card_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace assay::report {
namespace {

Timing seed_timing(double latency, double throughput, int batch_size) {
  Timing t;
  t.nb_forwards = std::llround(throughput * 15);  // the card divides by the configured 15 seconds
  t.duration_s = 15;
  t.throughput = throughput;
  t.samples_per_s = throughput * batch_size;
  t.latency_mean = latency;
  return t;
}

// Six layers with the nodes of a transformer encoder.
std::vector<NodeDecision> encoder_nodes(bool is_static, bool matmul, bool excluded, Rng& rng) {
  std::vector<NodeDecision> nodes;
  const auto add = [&](std::string name, const char* op, int64_t weight_bytes, const char* tag) {
    NodeDecision n;
    n.node = std::move(name);
    n.op = op;
    n.weight_bytes = weight_bytes;
    const bool listed = n.op == "Add" || (matmul && n.op == "MatMul");
    if (!listed) {
      n.reason = fmt::format("op type {} is not in operators_to_quantize", op);
    } else if (!is_static && n.op == "Add") {
      n.reason = "dynamic Add: no integer form exists, nothing changes";
    } else if (is_static && excluded && *tag != 0) {
      n.reason = fmt::format("excluded: structure {}", tag);
    } else if (!is_static && weight_bytes == 0) {
      n.reason = "both inputs are activations";
    } else {
      n.quantized = true;
      n.scheme = is_static ? "u8 tensor, s8 tensor, QDQ" : "u8 row, s8 tensor";
      n.reason = is_static ? "calibrated min-max over 100 samples" : "constant weight, integer kernel";
      n.sqnr_db = (is_static ? 18 : 34) + 8 * rng.uniform() - (n.op == "Add" && is_static ? 9 : 0);
    }
    nodes.push_back(std::move(n));
  };
  for (int layer = 0; layer < 6; ++layer) {
    const std::string p = fmt::format("/distilbert/transformer/layer.{}", layer);
    for (const char* lin : {"q_lin", "k_lin", "v_lin", "out_lin"}) {
      add(fmt::format("{}/attention/{}/MatMul", p, lin), "MatMul", 768 * 768 * 4, "");
      add(fmt::format("{}/attention/{}/Add", p, lin), "Add", 768 * 4, "");
    }
    add(p + "/attention/MatMul", "MatMul", 0, "");
    add(p + "/attention/Softmax", "Softmax", 0, "");
    add(p + "/attention/MatMul_1", "MatMul", 0, "");
    add(p + "/Add", "Add", 0, "residual");
    add(p + "/sa_layer_norm/Add", "Add", 0, "layernorm");
    add(p + "/ffn/lin1/MatMul", "MatMul", 768 * 3072 * 4, "");
    add(p + "/ffn/activation/Erf", "Erf", 0, "gelu");
    add(p + "/ffn/activation/Add", "Add", 0, "gelu");
    add(p + "/ffn/lin2/MatMul", "MatMul", 768 * 3072 * 4, "");
    add(p + "/Add_1", "Add", 0, "residual");
  }
  return nodes;
}

}  // namespace

Record seed_record() {
  Record r;
  r.task = "question-answering";
  r.model_type = "distilbert";
  r.backend = "sagemaker-training";
  r.machine = {{"instance_type", "ml.g4dn.2xlarge"}, {"supported_instructions", nullptr}};
  r.datasets = {"squad"};
  r.metrics = {"exact_match", "f1"};
  r.max_eval_samples = 1000;
  r.evaluated_samples = 1000;
  r.time_benchmark_args = {{"duration", 15}, {"warmup_runs", 10}};
  const Json both = {"Add", "MatMul"}, add = Json::array({"Add"});
  const Json tags = {"layernorm", "gelu", "residual", "gather", "softmax"};
  r.parameters = {
      {"model_name_or_path", {"distilbert-base-uncased-distilled-squad"}},
      {"dataset",
       {{{"path", "squad"},
         {"eval_split", "validation"},
         {"data_keys", {{"question", "question"}, {"context", "context"}}},
         {"ref_keys", Json::array({"answers"})},
         {"calibration_split", "train"}}}},
      {"quantization_approach", {"dynamic", "static"}},
      {"operators_to_quantize", {add, both}},
      {"node_exclusion", {Json::array(), tags}},
      {"per_channel", {false}},
      {"calibration", {{{"method", "minmax"}, {"num_calibration_samples", 100}}}},
      {"framework", {"onnxruntime"}},
      {"framework_args", {{{"opset", 11}, {"optimization_level", 1}}}},
      {"aware_training", {false}},
  };
  // Run order differs from the card's row order, as in a real sweep.
  for (int row = 7; row >= 0; --row) {
    Cell c;
    c.id = fmt::format("cell-{}", row);
    c.values = {row < 4 ? "dynamic" : "static", row % 4 < 2 ? both : add, row % 2 == 0 ? tags : Json::array()};
    const SeedMetrics& m = kSeedMetrics[row];
    c.baseline.metrics = {{"exact_match", m.exact_match_original}, {"f1", m.f1_original}};
    c.optimized.metrics = {{"exact_match", m.exact_match_optimized}, {"f1", m.f1_optimized}};
    for (int grid = 0; grid < 9; ++grid) {
      const SeedTime& t = kSeedTimes[grid * 8 + row];
      c.time.push_back({t.batch_size, t.input_length,
                        seed_timing(t.latency_original, t.throughput_original, t.batch_size),
                        seed_timing(t.latency_optimized, t.throughput_optimized, t.batch_size)});
    }
    r.cells.push_back(std::move(c));
  }
  return r;
}

Record full_record() {
  Record r = seed_record();
  Rng rng(7);
  r.title = "DistilBERT on SQuAD, eight ways";
  r.backend = "local";
  r.started_at = "2022-07-20T10:15:00Z";
  r.wall_s = 2161.5;
  r.command = "assay run distilbert.yaml -o out/distilbert";
  r.versions = {{"assay", "0.1.0"}, {"g++", "12.2.0"}, {"onnxruntime", "1.32.0"}};
  r.hardware = "Architecture:            x86_64\n  CPU op-mode(s):        32-bit, 64-bit\nCPU(s):                  8\n";
  const Json noise = {
      {"probes", 1000}, {"p50_us", 50.21}, {"p99_over_p50", 1.04}, {"max_over_p50", 2.31}, {"steal_percent", 0.07}};
  r.machine = {{"instance_type", "g4dn.2xlarge"},
               {"vendor", "Amazon EC2"},
               {"product", "g4dn.2xlarge"},
               {"cpu", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"},
               {"processors", 8},
               {"usable_processors", 4},
               {"cores", 4},
               {"sockets", 1},
               {"memory_bytes", 33'000'000'000},
               {"supported_instructions", {"avx2", "fma", "avx512f", "avx512_vnni"}},
               {"caches", {{"L1d", "128 KiB (4 instances)"}, {"L2", "4 MiB (4 instances)"}}},
               {"hypervisor", "KVM"},
               {"governor", ""},
               {"kernel", "Linux 5.10.0"},
               {"os", "Debian GNU/Linux 12 (bookworm)"},
               {"used_instructions", "avx512_vnni"},
               {"threads", 4},
               {"noise", noise},
               {"noise_at_end", noise}};
  for (Cell& c : r.cells) {
    const bool is_static = c.values[0] == "static", matmul = c.values[1].size() == 2, excluded = !c.values[2].empty();
    c.baseline.engine = "assay fp32";
    c.optimized.engine = "assay int8";
    c.baseline.model_bytes = 265'000'000;
    c.optimized.model_bytes = matmul ? 137'000'000 : 265'000'000;
    c.baseline.load_ms = 212.5;
    c.optimized.load_ms = 131.25;
    c.baseline.peak_memory_bytes = 401'000'000;
    c.optimized.peak_memory_bytes = matmul ? 262'000'000 : 405'000'000;
    for (TimePoint& t : c.time)
      for (auto* timing : {&t.baseline, &t.optimized}) {
        Timing& v = **timing;
        v.latency_std = v.latency_mean * 0.06;
        const double at[] = {0.99, 1.05, 1.09, 1.21, 1.6};
        const int64_t needed[] = {10, 50, 100, 500, 5000};
        size_t k = 0;
        for (const PercentileName& p : percentile_names()) {
          if (v.nb_forwards >= needed[k])
            (v.*p.member).ms = v.latency_mean * at[k];
          else
            (v.*p.member).needed = needed[k];
          ++k;
        }
      }
    c.nodes = encoder_nodes(is_static, matmul, excluded, rng);
    if (!is_static && excluded)
      c.notes.emplace_back("node_exclusion has no effect here in Optimum: dynamic quantization ignores it");
    if (!is_static && !matmul)
      c.notes.emplace_back("dynamic Add: no integer form exists, nothing changes; Optimum silently does nothing here");
  }
  Cell& broken = r.cells[3];
  broken.status = CellStatus::kFailed;
  broken.reason = "out of time after the metrics: the time benchmark was not finished";
  broken.time.resize(4);
  broken.time[3].optimized.reset();
  broken.time[3].baseline.reset();
  r.notes.emplace_back("The original model was timed beside each configuration, interleaved.");
  return r;
}

namespace {

TEST(Record, OrderIsByTextOfValues) {
  const Record r = seed_record();
  std::vector<std::string> ids;
  for (const size_t i : report_order(r)) ids.push_back(r.cells[i].id);
  EXPECT_EQ(ids,
            (std::vector<std::string>{"cell-0", "cell-1", "cell-2", "cell-3", "cell-4", "cell-5", "cell-6", "cell-7"}));
  EXPECT_EQ(time_grid(r).size(), 9u);
  EXPECT_EQ(time_grid(r).front(), (std::pair<int64_t, int64_t>{1, 32}));
}

TEST(Record, ValidateNamesWhatIsOff) {
  const auto message = [](const Record& r) -> std::string {
    try {
      r.validate();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(full_record()), "");
  Record r = seed_record();
  r.cells[2].id = r.cells[1].id;
  EXPECT_NE(message(r).find("'cell-6' appears twice"), std::string::npos) << message(r);
  r = seed_record();
  r.cells[0].values[0] = "quantum";
  EXPECT_NE(message(r).find("'quantum' is no alternative of parameter 'quantization_approach'"), std::string::npos)
      << message(r);
  r = seed_record();
  r.cells[0].values.pop_back();
  EXPECT_NE(message(r).find("2 values for 3 benchmarked"), std::string::npos) << message(r);
  r = seed_record();
  r.cells[0].time.push_back(r.cells[0].time[0]);
  EXPECT_NE(message(r).find("batch size 1 and input length 32"), std::string::npos) << message(r);
  r = seed_record();
  r.parameters[0].name = "runs";
  EXPECT_NE(message(r).find("'runs' cannot be the name"), std::string::npos) << message(r);
}

}  // namespace
}  // namespace assay::report
