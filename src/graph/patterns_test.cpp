#include "graph/patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// A graph under construction: op() gives the first output of a new node.
struct Builder {
  Graph g;
  ValueId x = g.add_input("x", {DType::kFloat32, std::nullopt, {}});
  int count = 0;

  ValueId op(const std::string& type, std::vector<ValueId> in) {
    return g.node(g.add_node(type, std::move(in), 1, type + std::to_string(count++))).outputs[0];
  }
  ValueId num(float v) { return g.add_constant(Tensor::scalar<float>(v)); }
  ValueId vec() { return g.add_constant(Tensor::from<float>({4}, {1, 2, 3, 4})); }
  ValueId cast(ValueId v) {
    Node n;
    n.op_type = "Cast";
    n.name = "Cast" + std::to_string(count++);
    n.attributes["to"] = int64_t{1};
    n.inputs = {v};
    n.outputs = {g.add_value()};
    return g.node(g.add_node(n)).outputs[0];
  }
  // Types of the nodes a pattern covers, sorted and joined, one string a match.
  std::vector<std::string> covered(Pattern p) {
    std::vector<std::string> out;
    for (const auto& m : find_pattern(g, p)) {
      std::vector<std::string> types;
      for (NodeId id : m.nodes) types.push_back(g.node(id).op_type);
      std::sort(types.begin(), types.end());
      std::string joined;
      for (const auto& t : types) joined += (joined.empty() ? "" : " ") + t;
      out.push_back(joined);
    }
    return out;
  }
};

using Strings = std::vector<std::string>;

TEST(PatternLayerNorm, NineNodesOfOptimumsPass) {
  Builder b;
  const ValueId d = b.op("Sub", {b.x, b.op("ReduceMean", {b.x})});
  const ValueId var = b.op("ReduceMean", {b.op("Pow", {d, b.num(2)})});
  const ValueId n = b.op("Div", {d, b.op("Sqrt", {b.op("Add", {var, b.num(1e-5f)})})});
  const ValueId y = b.op("Add", {b.op("Mul", {n, b.vec()}), b.vec()});
  b.g.add_output(b.op("Add", {y, b.x}));  // the residual beyond it is no part
  EXPECT_EQ(b.covered(Pattern::kLayerNorm), Strings{"Add Add Div Mul Pow ReduceMean ReduceMean Sqrt Sub"});
}

TEST(PatternLayerNorm, MulSquareReciprocalSwappedOperandsAndCasts) {
  Builder b;
  const ValueId xf = b.cast(b.x);
  const ValueId d = b.op("Sub", {xf, b.op("ReduceMean", {xf})});
  const ValueId var = b.op("ReduceMean", {b.op("Mul", {d, d})});
  const ValueId inv = b.op("Reciprocal", {b.op("Sqrt", {b.op("Add", {b.num(1e-5f), var})})});
  const ValueId n = b.cast(b.op("Mul", {inv, d}));
  b.g.add_output(b.op("Add", {b.vec(), b.op("Mul", {b.vec(), n})}));
  EXPECT_EQ(b.covered(Pattern::kLayerNorm),
            Strings{"Add Add Cast Cast Mul Mul Mul Reciprocal ReduceMean ReduceMean Sqrt Sub"});
}

TEST(PatternLayerNorm, TensorFlowMoments) {
  Builder b;
  const ValueId mean = b.op("ReduceMean", {b.x});
  const ValueId d = b.op("Sub", {b.x, mean});
  const ValueId var = b.op("ReduceMean", {b.op("Mul", {d, d})});
  const ValueId inv = b.op("Reciprocal", {b.op("Sqrt", {b.op("Add", {var, b.num(1e-12f)})})});
  const ValueId scaled = b.op("Mul", {inv, b.vec()});
  const ValueId shift = b.op("Sub", {b.vec(), b.op("Mul", {mean, scaled})});
  b.g.add_output(b.op("Add", {b.op("Mul", {b.x, scaled}), shift}));
  EXPECT_EQ(b.covered(Pattern::kLayerNorm),
            Strings{"Add Add Mul Mul Mul Mul Reciprocal ReduceMean ReduceMean Sqrt Sub Sub"});
}

TEST(PatternLayerNorm, MeanOfSquaresMinusSquaredMeanAndRootAsPow) {
  Builder b;
  const ValueId mean = b.op("ReduceMean", {b.x});
  const ValueId var = b.op("Sub", {b.op("ReduceMean", {b.op("Pow", {b.x, b.num(2)})}), b.op("Mul", {mean, mean})});
  const ValueId inv = b.op("Pow", {b.op("Add", {var, b.num(1e-5f)}), b.num(-0.5f)});
  b.g.add_output(b.op("Mul", {b.op("Sub", {b.x, mean}), inv}));
  EXPECT_EQ(b.covered(Pattern::kLayerNorm), Strings{"Add Mul Mul Pow Pow ReduceMean ReduceMean Sub Sub"});
}

TEST(PatternLayerNorm, RmsAndFused) {
  Builder b;
  const ValueId ms = b.op("ReduceMean", {b.op("Pow", {b.x, b.num(2)})});
  const ValueId n = b.op("Div", {b.x, b.op("Sqrt", {b.op("Add", {ms, b.num(1e-6f)})})});
  b.g.add_output(b.op("LayerNormalization", {b.op("Mul", {b.vec(), n}), b.vec()}));
  EXPECT_EQ(b.covered(Pattern::kLayerNorm), (Strings{"Add Div Mul Pow ReduceMean Sqrt", "LayerNormalization"}));
}

TEST(PatternLayerNorm, NearMissNamesTheNode) {
  Builder b;
  const ValueId d = b.op("Sub", {b.x, b.op("ReduceMean", {b.x})});
  const ValueId var = b.op("ReduceMean", {b.op("Mul", {d, d})});
  b.g.add_output(b.op("Exp", {b.op("Sqrt", {b.op("Add", {var, b.num(1e-5f)})})}));
  std::vector<PatternMiss> misses;
  EXPECT_TRUE(find_pattern(b.g, Pattern::kLayerNorm, &misses).empty());
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(b.g.node(misses[0].node).op_type, "Exp");
}

TEST(PatternGelu, ErfInManySpellings) {
  const float r = std::sqrt(0.5f);
  {  // Optimum's: Div, Erf, Add, Mul, Mul
    Builder b;
    const ValueId e = b.op("Add", {b.op("Erf", {b.op("Div", {b.x, b.num(std::sqrt(2.0f))})}), b.num(1)});
    b.g.add_output(b.op("Mul", {b.op("Mul", {b.x, e}), b.num(0.5f)}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Div Erf Mul Mul"});
  }
  {  // constants first, half taken into x, a cast between
    Builder b;
    const ValueId e = b.op("Add", {b.num(1), b.cast(b.op("Erf", {b.op("Mul", {b.num(r), b.x})}))});
    b.g.add_output(b.op("Mul", {e, b.op("Mul", {b.num(0.5f), b.x})}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Cast Erf Mul Mul Mul"});
  }
  {  // half taken into the bracket
    Builder b;
    const ValueId e = b.op("Mul", {b.op("Add", {b.op("Erf", {b.op("Mul", {b.x, b.num(r)})}), b.num(1)}), b.num(0.5f)});
    b.g.add_output(b.op("Mul", {b.x, e}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Erf Mul Mul Mul"});
  }
  {  // multiplied out
    Builder b;
    const ValueId h = b.op("Mul", {b.x, b.num(0.5f)});
    const ValueId e = b.op("Erf", {b.op("Mul", {b.x, b.num(r)})});
    b.g.add_output(b.op("Add", {h, b.op("Mul", {h, e})}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Erf Mul Mul Mul"});
  }
}

TEST(PatternGelu, BaseIsTheValueEvenWhenItWasScaledBefore) {
  Builder b;
  const ValueId y = b.op("Mul", {b.x, b.num(3)});
  const ValueId e = b.op("Add", {b.op("Erf", {b.op("Div", {y, b.num(std::sqrt(2.0f))})}), b.num(1)});
  b.g.add_output(b.op("Mul", {b.op("Mul", {y, e}), b.num(0.5f)}));
  EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Div Erf Mul Mul"});
}

TEST(PatternGelu, TanhFormsAndQuick) {
  const float c = std::sqrt(2.0f / 3.14159265f);
  {
    Builder b;
    const ValueId cubic = b.op("Mul", {b.op("Pow", {b.x, b.num(3)}), b.num(0.044715f)});
    const ValueId t = b.op("Tanh", {b.op("Mul", {b.op("Add", {b.x, cubic}), b.num(c)})});
    b.g.add_output(b.op("Mul", {b.op("Mul", {b.x, b.num(0.5f)}), b.op("Add", {t, b.num(1)})}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Add Add Mul Mul Mul Mul Pow Tanh"});
    EXPECT_TRUE(find_pattern(b.g, Pattern::kResidual).empty());  // x + 0.044715 x^3 is no skip connection
  }
  {  // FastGelu: x c (1 + 0.044715 x x)
    Builder b;
    const ValueId square = b.op("Mul", {b.op("Mul", {b.x, b.num(0.044715f)}), b.x});
    const ValueId inner = b.op("Mul", {b.op("Mul", {b.x, b.num(c)}), b.op("Add", {square, b.num(1)})});
    b.g.add_output(b.op("Mul", {b.op("Mul", {b.num(0.5f), b.x}), b.op("Add", {b.num(1), b.op("Tanh", {inner})})}));
    EXPECT_EQ(b.covered(Pattern::kGelu).size(), 1u);
  }
  {
    Builder b;
    b.g.add_output(b.op("Mul", {b.x, b.op("Sigmoid", {b.op("Mul", {b.x, b.num(1.702f)})})}));
    EXPECT_EQ(b.covered(Pattern::kGelu), Strings{"Mul Mul Sigmoid"});
  }
}

TEST(PatternGelu, WrongConstantsAreMissesNotMatches) {
  Builder b;
  const ValueId e = b.op("Add", {b.op("Erf", {b.op("Div", {b.x, b.num(std::sqrt(2.0f))})}), b.num(1)});
  b.g.add_output(b.op("Mul", {b.op("Mul", {b.x, e}), b.num(0.25f)}));
  std::vector<PatternMiss> misses;
  EXPECT_TRUE(find_pattern(b.g, Pattern::kGelu, &misses).empty());
  EXPECT_EQ(misses.size(), 1u);
  Builder silu;
  silu.g.add_output(silu.op("Mul", {silu.x, silu.op("Sigmoid", {silu.x})}));
  EXPECT_TRUE(find_pattern(silu.g, Pattern::kGelu).empty());
}

TEST(PatternResidual, EveryAddThatSharesAnInputAndSkipsAcrossOtherOps) {
  Builder b;
  const ValueId h = b.op("Add", {b.op("MatMul", {b.x, b.vec()}), b.vec()});
  const ValueId one = b.op("Add", {h, b.op("Relu", {b.x})});
  const ValueId two = b.op("Add", {h, b.op("Tanh", {b.x})});  // Optimum keeps only this one
  b.g.add_output(one);
  b.g.add_output(two);
  b.g.add_output(b.op("Add", {b.op("Conv", {b.x, b.vec()}), b.x}));  // no Add before it: Optimum misses it
  EXPECT_EQ(b.covered(Pattern::kResidual), (Strings{"Add", "Add", "Add"}));
}

TEST(PatternGather, SumsOfEmbeddings) {
  Builder b;
  const ValueId ids = b.g.add_input("ids", {DType::kInt64, std::nullopt, {}});
  const ValueId words = b.op("Gather", {b.vec(), ids});
  const ValueId places = b.op("Unsqueeze", {b.cast(b.op("Gather", {b.vec(), ids}))});
  b.g.add_output(b.op("Add", {b.op("Add", {words, b.vec()}), places}));
  b.g.add_output(b.op("Add", {words, b.x}));
  EXPECT_EQ(b.covered(Pattern::kGather), (Strings{"Add Gather", "Add Gather", "Add Gather"}));
}

TEST(PatternSoftmax, MaskAddWhereAndUnfused) {
  {
    Builder b;
    const ValueId mask = b.g.add_input("mask", {DType::kFloat32, std::nullopt, {}});
    b.g.add_output(b.op("Softmax", {b.cast(b.op("Add", {b.op("MatMul", {b.x, b.x}), mask}))}));
    EXPECT_EQ(b.covered(Pattern::kSoftmax), Strings{"Add Cast Softmax"});
  }
  {  // DistilBERT's masked fill, which Optimum's pass does not see
    Builder b;
    const ValueId mask = b.g.add_input("mask", {DType::kBool, std::nullopt, {}});
    const ValueId p = b.op("Softmax", {b.op("Where", {mask, b.num(-1e38f), b.op("MatMul", {b.x, b.x})})});
    b.g.add_output(b.op("Where", {b.op("IsNaN", {p}), b.num(0), p}));
    EXPECT_EQ(b.covered(Pattern::kSoftmax), Strings{"IsNaN Softmax Where Where"});
  }
  {
    Builder b;
    const ValueId e = b.op("Exp", {b.op("Sub", {b.x, b.op("ReduceMax", {b.x})})});
    b.g.add_output(b.op("Div", {e, b.op("ReduceSum", {e})}));
    EXPECT_EQ(b.covered(Pattern::kSoftmax), Strings{"Div Exp ReduceMax ReduceSum Sub"});
  }
}

}  // namespace
}  // namespace assay
