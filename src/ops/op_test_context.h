#pragma once

// Runs single operators in tests: an OpContext on the heap, and a text form of cases.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace assay {

/// Memory for one run of one operator. It keeps the promises the engine keeps, and checks those operators make:
/// every output asked for once, scratch once.
class TestContext final : public OpContext {
 public:
  TestContext(std::vector<Tensor> inputs, size_t outputs, int threads = 1) : tensors_(std::move(inputs)) {
    for (const Tensor& t : tensors_) inputs_.push_back(t ? t.view() : TensorView{});
    outputs_.resize(outputs);
    threads_ = threads;
  }

  MutableTensorView output(size_t i, DType dtype, const Shape& shape) override {
    if (i >= outputs_.size()) outputs_.resize(i + 1);
    EXPECT_FALSE(static_cast<bool>(outputs_[i])) << "output " << i << " asked for twice";
    outputs_[i] = Tensor(dtype, shape);
    // Uninitialised memory in the engine: make a forgotten write show.
    MutableTensorView view = outputs_[i].mutable_view();
    if (dtype != DType::kString) std::fill_n(static_cast<unsigned char*>(view.data), outputs_[i].bytes(), 0xa5);
    return view;
  }
  void alias(size_t i, size_t in, const Shape& shape) override {
    if (i >= outputs_.size()) outputs_.resize(i + 1);
    outputs_[i] = tensors_.at(in).reshaped(shape);
  }
  bool wants(size_t i) const override { return i < outputs_.size(); }
  void* scratch(int64_t bytes) override {
    EXPECT_FALSE(static_cast<bool>(scratch_)) << "scratch asked for twice";
    scratch_ = Tensor(DType::kUint8, Shape{bytes});
    std::fill_n(scratch_.mutable_view().as<uint8_t>(), bytes, uint8_t{0xa5});
    return scratch_.mutable_view().data;
  }

  const Tensor& result(size_t i) const { return outputs_.at(i); }
  size_t result_count() const { return outputs_.size(); }

 private:
  std::vector<Tensor> tensors_;
  std::vector<Tensor> outputs_;
  Tensor scratch_;
};

using Attributes = std::map<std::string, Attribute, std::less<>>;

/// Makes the operator (constant inputs as given in `constants`) and runs it once.
std::vector<Tensor> run_op(std::string_view op_type, int version, const Attributes& attributes,
                           const std::vector<Tensor>& inputs, size_t outputs = 1, bool constants = false,
                           std::string_view domain = "", kernels::Isa isa = kernels::Isa::kScalar, int threads = 1);

/// Runs text cases, one a line ("#" comments and blank lines skipped):
///
///   Op[@version] [name=value ...] | input ; input ... -> output ; output ...
///   Op ... -> error words of the message
///
/// A tensor is `type[dims] values` (f32[2,3] 1 2 3 4 5 6; one value fills all), `-` an absent input. An attribute value
/// is an integer, a float (with a point), [list], or a word. The default version is the newest, 28. Floats compare
/// within 1e-5 relative and 1e-6 absolute (float16 and bfloat16 1e-2), the rest exactly.
void run_cases(std::string_view text);

/// The tensor of a text such as "i64[2] 1 2".
Tensor tensor_of(std::string_view text);

}  // namespace assay
