#include <gtest/gtest.h>

#include <filesystem>

#include "formats/onnx_read.h"
#include "formats/onnx_write.h"

namespace assay {
namespace {

Model small_model() {
  Model m;
  m.opsets[""] = 17;
  Graph& g = m.graph;
  g.name = "g";
  const ValueId x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{{-1, "batch"}, {2, ""}}, ""});
  const ValueId w = g.add_constant(Tensor::from<float>(Shape{2, 2}, {1, 2, 3, 4}), "w");
  const NodeId n = g.add_node("MatMul", {x, w}, 1, "/mm", "", 17);
  g.value(g.node(n).outputs[0]).type = {DType::kFloat32, std::vector<Dim>{{-1, "batch"}, {2, ""}}, ""};
  g.add_output(g.node(n).outputs[0]);
  return m;
}

TEST(Onnx, WriteReadKeepsTheModel) {
  const Model m = small_model();
  const std::string bytes = onnx_bytes(m);
  const Model back = read_onnx(std::as_bytes(std::span(bytes)), ".");
  EXPECT_EQ(onnx_bytes(back), bytes);
  EXPECT_EQ(back.graph.value(back.graph.inputs[0]).type.dims->at(0).symbol, "batch");
  EXPECT_EQ(back.graph.node(0).version, 17);
  back.graph.verify();
}

}  // namespace
}  // namespace assay
