#include "graph/graph.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

struct Chain {
  Graph g;
  ValueId x, w, y, z;
  NodeId first, second;
  Chain() {
    x = g.add_input("x", {DType::kFloat32, std::nullopt, {}});
    w = g.add_constant(Tensor::from<float>({1}, {2}), "w");
    first = g.add_node("Mul", {x, w}, 1, "mul");
    y = g.node(first).outputs[0];
    second = g.add_node("Add", {y, y}, 1, "add");
    z = g.node(second).outputs[0];
    g.add_output(z);
  }
};

TEST(Graph, KnowsProducersAndUsers) {
  Chain c;
  c.g.verify();
  EXPECT_EQ(c.g.producer(c.y)->name, "mul");
  EXPECT_EQ(c.g.value(c.y).users.size(), 2u);
  EXPECT_EQ(c.g.topological_order(), (std::vector<NodeId>{c.first, c.second}));
}

TEST(Graph, ReplaceUsesMovesEveryUseAndOutputs) {
  Chain c;
  c.g.replace_uses(c.y, c.x);
  c.g.verify();
  EXPECT_EQ(c.g.node(c.second).inputs, (std::vector<ValueId>{c.x, c.x}));
  EXPECT_EQ(c.g.remove_dead(), 1);
  EXPECT_FALSE(c.g.alive(c.first));
  EXPECT_FALSE(c.g.value(c.w).constant);
  c.g.replace_uses(c.z, c.x);
  EXPECT_EQ(c.g.outputs()[0], c.x);
}

TEST(Graph, RefusesToEraseWhatIsUsed) {
  Chain c;
  EXPECT_THROW(c.g.erase_node(c.first), Error);
  EXPECT_THROW(c.g.erase_node(c.second), Error);
}

TEST(Graph, AnInputWithADefaultIsNoConstant) {
  Chain c;
  EXPECT_NE(c.g.constant(c.w), nullptr);
  c.g.inputs.push_back(c.w);
  EXPECT_EQ(c.g.constant(c.w), nullptr);
  EXPECT_TRUE(c.g.value(c.w).constant);
}

TEST(Graph, CycleIsNamed) {
  Chain c;
  c.g.set_input(c.first, 0, c.z);
  try {
    c.g.topological_order();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadFile);
    EXPECT_NE(std::string(e.what()).find("mul"), std::string::npos);
  }
}

TEST(Graph, SubgraphCapturesCountAsUses) {
  Chain c;
  auto body = std::make_shared<Graph>();
  const ValueId inner = body->add_value("y");
  body->captures.push_back({c.y, inner});
  body->add_output(inner);
  Node n;
  n.op_type = "If";
  n.attributes["then_branch"] = body;
  n.outputs = {c.g.add_value("r")};
  const NodeId id = c.g.add_node(n);
  c.g.add_output(c.g.node(id).outputs[0]);
  c.g.verify();
  EXPECT_EQ(c.g.value(c.y).users.size(), 3u);
  c.g.replace_uses(c.y, c.x);
  EXPECT_EQ(body->captures[0].outer, c.x);
  c.g.verify();
  Graph copy = c.g.clone();
  EXPECT_NE(copy.node(id).get_graph("then_branch").get(), body.get());
}

TEST(Node, AttributesAreTypedAndNamedWhenWrong) {
  Node n;
  n.op_type = "Softmax";
  n.name = "s";
  n.attributes["axis"] = 1.5f;
  EXPECT_EQ(n.get_int("absent", 7), 7);
  EXPECT_THROW(n.get_int("axis", 0), Error);
}

}  // namespace
}  // namespace assay
