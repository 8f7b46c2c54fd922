#include "quant/calibrator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/rng.h"

namespace assay::quant {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void observe(Observer& o, std::vector<float> v) { o.observe(v.data(), static_cast<int64_t>(v.size()), 1); }

// microsoft/onnxruntime#23749, microsoft/Olive#1320.
TEST(MinMaxObserver, OutermostFiniteValuesAndTheirCounts) {
  const auto o = make_observer({});
  observe(*o, {kNan, 1, 2, 3, kNan, kInf});
  observe(*o, {-1, 0.5f});
  EXPECT_EQ(o->range(), (TensorRange{-1, 3, 5, 3}));
}

TEST(MinMaxObserver, MovingAverageIsTheMeanThenExponential) {
  ObserverOptions options;
  options.moving_average = true;
  options.averaging_constant = 0.25f;
  const auto o = make_observer(options);
  observe(*o, {-1, 1});
  observe(*o, {-3, 3});
  EXPECT_FLOAT_EQ(o->range().hi, 2.0f);
  observe(*o, {-5, 5});
  EXPECT_FLOAT_EQ(o->range().lo, -3.0f);
  for (int i = 0; i < 3; ++i) observe(*o, {-3, 3});
  observe(*o, {-7, 7});
  EXPECT_FLOAT_EQ(o->range().hi, 4.0f);  // 3 + 0.25 (7 - 3)
}

TEST(Observers, UnknownMethodListsWhatThereIs) {
  ObserverOptions options;
  options.method = "magic";
  try {
    make_observer(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("minmax"), std::string::npos);
  }
}

// x -> Relu -> y, with x given out as well: a model input that is an output too.
Model relu_model() {
  Model m;
  m.opsets[""] = 13;
  TensorType type;
  type.dtype = DType::kFloat32;
  type.dims = std::vector<Dim>{{-1, "n"}};
  const ValueId x = m.graph.add_input("x", type);
  const NodeId n = m.graph.add_node("Relu", {x}, 1, "relu", "", 13);
  m.graph.value(m.graph.node(n).outputs[0]).name = "y";
  m.graph.add_output(m.graph.node(n).outputs[0]);
  m.graph.add_output(x);
  return m;
}

SampleSource samples(std::vector<Sample> all) {
  return [all = std::move(all), at = size_t{0}](Sample& s) mutable {
    if (at == all.size()) return false;
    s = all[at++];
    return true;
  };
}

// microsoft/onnxruntime#21922: a calibrated tensor that is a model input counts every batch.
TEST(Calibrate, InputsCountInEveryBatch) {
  Progress silent;
  const Calibration c =
      calibrate(relu_model(), {"x", "y"},
                samples({{Tensor::from<float>({2}, {-4, 1})}, {Tensor::from<float>({3}, {0, 7, 2})}}), {}, silent);
  EXPECT_EQ(c.samples, 2);
  EXPECT_EQ(c.ranges.at("x"), (TensorRange{-4, 7, 5, 0}));
  EXPECT_EQ(c.ranges.at("y"), (TensorRange{0, 7, 5, 0}));
}

// The kind of microsoft/onnxruntime#21922: values that lie in memory which the next batch overwrites: the caller's own,
// handed over again and again, and what operators pass on without a copy.
TEST(Calibrate, MemoryUsedAgainByTheNextBatchCounts) {
  Model m = relu_model();
  ValueId v = m.graph.inputs[0];
  std::vector<std::string> names{"x", "y"};
  for (const char* name : {"same", "again"}) {
    const NodeId n = m.graph.add_node("Identity", {v}, 1, name, "", 13);
    v = m.graph.node(n).outputs[0];
    m.graph.value(v).name = name;
    names.emplace_back(name);
  }
  m.graph.add_output(v);
  for (const bool moving_average : {false, true}) {
    Tensor shared(DType::kFloat32, Shape{4});
    int at = 0;
    const SampleSource source = [&](Sample& s) {
      if (at == 6) return false;
      const float size = static_cast<float>(at == 2 ? 10 : at % 3 + 1);
      for (int i = 0; i < 4; ++i) shared.mutable_view().as<float>()[i] = (i % 2 == 0 ? 1.0f : -2.0f) * size;
      ++at;
      s = {shared};
      return true;
    };
    CalibrationOptions options;
    options.observer.moving_average = moving_average;
    Progress silent;
    const Calibration c = calibrate(m, names, source, options, silent);
    EXPECT_EQ(c.samples, 6);
    const float hi = moving_average ? (1 + 2 + 10 + 1 + 2 + 3) / 6.0f : 10.0f;
    for (const char* name : {"x", "same", "again"}) {
      EXPECT_NEAR(c.ranges.at(name).hi, hi, 1e-5f) << name;
      EXPECT_NEAR(c.ranges.at(name).lo, -2 * hi, 1e-5f) << name;
      EXPECT_EQ(c.ranges.at(name).values, 24) << name;
    }
    EXPECT_NEAR(c.ranges.at("y").hi, hi, 1e-5f);
    EXPECT_EQ(c.ranges.at("y").lo, 0.0f);
  }
}

// microsoft/onnxruntime#10571, for min-max: a normal tensor has two sides, whichever way the batches are cut.
TEST(MinMaxObserver, BothSidesOfANormalTensor) {
  Rng rng(10571);
  std::vector<float> v(100000);
  for (float& x : v) {  // the sum of twelve uniforms, less six
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(rng.below(1000000)) / 1e6;
    x = static_cast<float>(sum);
  }
  for (const bool moving_average : {false, true})
    for (const size_t batch : {size_t{1000}, v.size()}) {
      ObserverOptions options;
      options.moving_average = moving_average;
      const auto o = make_observer(options);
      for (size_t i = 0; i < v.size(); i += batch)
        observe(*o, {v.begin() + static_cast<std::ptrdiff_t>(i), v.begin() + static_cast<std::ptrdiff_t>(i + batch)});
      const TensorRange r = o->range();
      EXPECT_EQ(r.values, 100000);
      EXPECT_LT(r.lo, -2.9f);
      EXPECT_GT(r.hi, 2.9f);
      EXPECT_LT(std::abs(r.lo + r.hi), 1.0f);
      if (!moving_average) {
        EXPECT_EQ(r.lo, *std::min_element(v.begin(), v.end()));
        EXPECT_EQ(r.hi, *std::max_element(v.begin(), v.end()));
      }
    }
}

TEST(Calibrate, AllNanNamesTensorAndSample) {
  Progress silent;
  try {
    calibrate(relu_model(), {"x"}, samples({{Tensor::from<float>({1}, {1})}, {Tensor::from<float>({2}, {kNan, kNan})}}),
              {}, silent);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNumeric);
    EXPECT_NE(std::string(e.what()).find("tensor 'x'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("sample '1'"), std::string::npos);
  }
}

TEST(Calibrate, NoSampleUnknownTensorAndLimit) {
  Progress silent;
  EXPECT_THROW(calibrate(relu_model(), {"x"}, samples({}), {}, silent), Error);
  EXPECT_THROW(calibrate(relu_model(), {"nowhere"}, samples({{Tensor::from<float>({1}, {1})}}), {}, silent), Error);
  CalibrationOptions one;
  one.max_samples = 1;
  const Calibration c = calibrate(
      relu_model(), {"x"}, samples({{Tensor::from<float>({1}, {1})}, {Tensor::from<float>({1}, {9})}}), one, silent);
  EXPECT_EQ(c.ranges.at("x").hi, 1.0f);
}

TEST(TrimPadding, CutsWhatEveryRowLeavesOut) {
  Model m;
  TensorType type;
  type.dtype = DType::kInt64;
  type.dims = std::vector<Dim>{{-1, "b"}, {-1, "s"}};
  m.graph.add_input("input_ids", type);
  m.graph.add_input("attention_mask", type);
  const Sample in{Tensor::from<int64_t>({2, 4}, {1, 2, 3, 0, 5, 6, 0, 0}),
                  Tensor::from<int64_t>({2, 4}, {1, 1, 1, 0, 1, 1, 0, 0})};
  const Sample out = trim_padding(m, in);
  EXPECT_EQ(out[0].shape().str(), "[2,3]");
  EXPECT_EQ(out[0].values<int64_t>()[3], 5);
  EXPECT_EQ(out[1].values<int64_t>()[5], 0);
  m.graph.value(m.graph.inputs[0]).type.dims->at(1) = {4, ""};
  EXPECT_EQ(trim_padding(m, in)[0].shape().str(), "[2,4]");  // the model wants four
}

TEST(CalibrationFile, RoundTripAndRefusals) {
  Calibration c;
  c.method = "minmax";
  c.model = fingerprint(relu_model());
  c.samples = 3;
  c.ranges["a"] = {-0.1f, 3.4e38f, 10, 1};
  const auto path = std::filesystem::path(testing::TempDir()) / "assay_calibration.json";
  save_calibration(c, path);
  const Calibration back = load_calibration(path, c.model, "minmax");
  EXPECT_EQ(back.ranges, c.ranges);
  EXPECT_EQ(back.samples, 3);
  EXPECT_THROW(load_calibration(path, "another", ""), Error);
  EXPECT_THROW(load_calibration(path, "", "entropy"), Error);
  auto json = to_json(c);
  json["ranges"]["a"]["lo"] = "text";
  EXPECT_THROW(calibration_from_json(json), Error);
  json["ranges"]["a"]["lo"] = nullptr;  // how JSON writes NaN
  EXPECT_THROW(calibration_from_json(json), Error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace assay::quant
