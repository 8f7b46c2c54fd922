#include "report/markdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "report/report_text_test.h"
#include "report/seed_card_test.h"

namespace assay::report {
namespace {

// What a reader of the rendered card sees, in the form the published card was kept in: no markup, a tab between
// columns.
std::vector<std::string> visible(const std::string& markdown) {
  std::vector<std::string> out;
  for (std::string line : lines(between(markdown, "\n---\n\n", "# Details"))) {
    if (line.starts_with("|")) {
      if (line.find(":---:") != std::string::npos) continue;
      std::string row;
      for (const std::string& cell : markdown_row(line)) row += (row.empty() ? "" : "\t") + cell;
      out.push_back(row);
      continue;
    }
    std::erase(line, '`');
    for (size_t at; (at = line.find("**")) != std::string::npos;) line.erase(at, 2);
    if (line.starts_with("    * ")) line.replace(0, 6, "- ");
    if (line.starts_with("* ")) line.erase(0, 2);
    line.erase(0, line.find_first_not_of("# "));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

TEST(Markdown, ReproducesThePublishedCardLineByLine) {
  const std::filesystem::path card = ASSAY_SOURCE_DIR "/../shared/seeds/000_f1180162eacce421.txt";
  if (!std::filesystem::exists(card)) GTEST_SKIP() << "the published card is not here";
  std::vector<std::string> want;
  for (const std::string& line : lines(read_text(card)))
    if (!line.empty()) want.push_back(line);
  // The page the card was taken from ends with an outline of itself and links.
  const auto last =
      std::find_if(want.rbegin(), want.rend(), [](const std::string& l) { return l.starts_with("`static`"); });
  want.erase(last.base(), want.end());
  EXPECT_EQ(visible(to_markdown(seed_record())), want);
}

TEST(Markdown, KeepsTheCardsForm) {
  const std::string text = to_markdown(seed_record());
  EXPECT_TRUE(
      text.starts_with("---\npipeline_tag: question-answering\ndatasets:\n- squad\nmetrics:\n- exact_match\n- f1\n"
                       "tags:\n- distilbert\n---\n"));
  EXPECT_NE(text.find("**Backend args:** `{'instance_type': 'ml.g4dn.2xlarge', 'supported_instructions': None}`  \n"),
            std::string::npos);
  EXPECT_NE(text.find("| `static` | `['Add']` | `[]` | \\| | 310.00 | 406.54 | \\| | 3.27 | 2.47 |"),
            std::string::npos);
}

TEST(Markdown, EveryTableIsRectangularWhateverTheNames) {
  Record r = full_record();
  r.parameters[2].values = {"dyn|amic", "sta`|`tic\n"};
  for (Cell& c : r.cells) {
    c.values[0] = c.values[0] == "dynamic" ? "dyn|amic" : "sta`|`tic\n";
    c.nodes[0].node = "a|b`c";
    c.nodes[0].reason = "x|y\n\nz";
    c.notes.emplace_back("| not | a | table |");
  }
  size_t width = 0, rows = 0;
  for (const std::string& line : lines(to_markdown(r))) {
    if (!line.starts_with("|")) {
      width = 0;
      continue;
    }
    const size_t cells = markdown_row(line).size();
    if (width == 0) width = cells;
    EXPECT_EQ(cells, width) << line;
    ++rows;
  }
  EXPECT_GT(rows, 72u);
}

TEST(Markdown, SaysWhatFailedWhatChangedNothingAndWhichNodesDidDamage) {
  const std::string text = to_markdown(full_record());
  EXPECT_NE(text.find("failed: out of time after the metrics"), std::string::npos);
  EXPECT_NE(
      text.find(
          "dynamic Add: no integer form exists, nothing changes; Optimum silently does nothing here (`dynamic · Add ·"),
      std::string::npos);
  EXPECT_NE(text.find("The quantized nodes that did most damage"), std::string::npos);
  EXPECT_NE(text.find("| n<500 | n<5000 |"), std::string::npos);
  // Every node that was left in floating point is there with its reason.
  const Record r = full_record();
  for (const NodeDecision& n : r.cells[1].nodes) EXPECT_NE(text.find("`" + n.node + "`"), std::string::npos) << n.node;
  EXPECT_NE(text.find("excluded: structure layernorm"), std::string::npos);
}

TEST(Markdown, ARunOfOneCellHasATableToo) {
  Record r = seed_record();
  r.cells.resize(1);
  for (size_t i = 2; i < 5; ++i) r.parameters[i].values.resize(1);
  r.cells[0].values.clear();
  r.cells[0].id = "only";
  const std::string text = to_markdown(r);
  EXPECT_EQ(text.find("Benchmarked parameters"), std::string::npos);
  EXPECT_NE(text.find("| `only` | \\| | 82.300 | 59.800 | \\| | 87.232 | 69.217 |"), std::string::npos);
}

}  // namespace
}  // namespace assay::report
