// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

#include <cmath>

#include "ops/convert.h"
#include "ops/index.h"

namespace assay {
namespace {

// With `kSoftmax` the input are scores and log-softmax over axis 1 comes first (and is output 1 when wanted).
template <bool kSoftmax>
class LossOp final : public Op {
 public:
  explicit LossOp(const OpInit& init)
      : has_ignore_(init.node.has("ignore_index")),
        ignore_(init.node.get_int("ignore_index", 0)),
        reduction_(init.node.get_string("reduction", "mean")) {
    require(reduction_ == "mean" || reduction_ == "sum" || reduction_ == "none", ErrorCode::kInvalidArgument,
            "reduction must be mean, sum or none, not '{}'", reduction_);
  }

  void run(OpContext& ctx) const override {
    const TensorView& x = need_input(ctx, 0, "input");
    const TensorView& target = need_input(ctx, 1, "target");
    require(x.shape.rank() >= 2 && target.shape.rank() == x.shape.rank() - 1, ErrorCode::kInvalidArgument,
            "input {} must be [N,C,...] and target {} [N,...]", x.shape, target.shape);
    const int64_t items = x.shape[0], classes = x.shape[1], inner = x.shape.elements(2, x.shape.rank());
    const int64_t n = target.elements();
    require(n == items * inner, ErrorCode::kInvalidArgument, "target {} does not fit input {}", target.shape, x.shape);
    const bool weighted = ctx.has_input(2);
    require(!weighted || ctx.input(2).elements() == classes, ErrorCode::kInvalidArgument,
            "weight {} must hold one element a class ({})", weighted ? ctx.input(2).shape : Shape{}, classes);

    // Scratch in double: log-probabilities, losses, class weights.
    const int64_t total = x.elements();
    auto* logs = static_cast<double*>(
        ctx.scratch(checked_mul<int64_t>(sizeof(double), checked_add(total, checked_add(n, classes)))));
    double* losses = logs + total;
    double* weights = losses + n;
    convert_elements(x, {DType::kFloat64, x.shape, logs}, true);
    if (kSoftmax) log_softmax(logs, items, classes, inner);
    std::fill(weights, weights + classes, 1.0);
    if (weighted) convert_elements(ctx.input(2), {DType::kFloat64, Shape{classes}, weights}, true);

    double weight_sum = 0, loss_sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = read_int(target, i, "target");
      losses[i] = 0;
      if (has_ignore_ && c == ignore_) continue;
      require(c >= 0 && c < classes, ErrorCode::kInvalidArgument, "target {} at element {} is outside {} classes", c, i,
              classes);
      losses[i] = -logs[(i / inner * classes + c) * inner + i % inner] * weights[c];
      loss_sum += losses[i];
      weight_sum += weights[c];
    }
    if (reduction_ == "none") {
      convert_elements({DType::kFloat64, target.shape, losses}, ctx.output(0, x.dtype, target.shape), true);
    } else {
      const double result = reduction_ == "mean" ? loss_sum / weight_sum : loss_sum;
      convert_elements({DType::kFloat64, Shape{}, &result}, ctx.output(0, x.dtype, Shape{}), true);
    }
    if (kSoftmax && ctx.wants(1))
      convert_elements({DType::kFloat64, x.shape, logs}, ctx.output(1, x.dtype, x.shape), true);
  }

 private:
  static void log_softmax(double* v, int64_t items, int64_t classes, int64_t inner) {
    for (int64_t i = 0; i < items * inner; ++i) {
      double* p = v + i / inner * classes * inner + i % inner;
      double max = -std::numeric_limits<double>::infinity();
      for (int64_t c = 0; c < classes; ++c) max = std::max(max, p[c * inner]);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(p[c * inner] - max);
      for (int64_t c = 0; c < classes; ++c) p[c * inner] -= max + std::log(sum);
    }
  }

  bool has_ignore_;
  int64_t ignore_;
  std::string reduction_;
};

const OpRegistration kNll{"", "NegativeLogLikelihoodLoss", 12, make_op<LossOp<false>>};
const OpRegistration kSce{"", "SoftmaxCrossEntropyLoss", 12, make_op<LossOp<true>>};

}  // namespace
}  // namespace assay
