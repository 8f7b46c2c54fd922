#include "report/html.h"
#include "report/html/assets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "report/format.h"
#include "report/markdown.h"
#include "report/report_text_test.h"
#include "report/results_json.h"
#include "report/seed_card_test.h"

namespace assay::report {
namespace {

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

// A stand-in for Plotly's script, with the sequences that would end the element it stands in.
constexpr const char* kScript = "var Plotly = {a: \"</script><!--\"};";

TEST(Html, IsOneFileThatAsksForNothing) {
  const std::string page = to_html(full_record(), kScript);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* fetches : {" src=", "<link", "@import", "url(", "http:", "https:", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page.find(fetches), std::string::npos) << fetches;
  EXPECT_EQ(count(page, "<script"), 3u);  // data, Plotly, our own
  EXPECT_EQ(count(page, "</script>"), 3u);
  EXPECT_NE(page.find(R"(var Plotly = {a: "<\/script><\!--"};)"), std::string::npos);
  for (const char* id : {"scatter", "latency", "metrics", "speed-up", "time", "nodes", "machine", "node-search"})
    EXPECT_EQ(count(page, fmt::format("id=\"{}\"", id)), 1u) << id;
}

// A record in which every text is `name`.
Record named(const std::string& name) {
  Record r = full_record();
  r.title = r.task = r.model_type = r.backend = r.command = r.hardware = r.started_at = name;
  r.notes = {name};
  r.versions[name] = name;
  r.machine["cpu"] = name;
  r.metrics = {name, "f1"};
  r.parameters[0].values = {name};
  r.parameters[2].name = name;
  r.parameters[2].values = {name, "static"};
  for (Cell& c : r.cells) {
    if (c.values[0] == "dynamic") c.values[0] = name;
    c.baseline.metrics[0].first = c.optimized.metrics[0].first = name;
    c.baseline.engine = name;
    c.notes = {name};
    c.nodes[0].node = c.nodes[0].op = c.nodes[0].scheme = c.nodes[0].reason = name;
  }
  r.cells[3].reason = name;
  return r;
}

TEST(Html, NamesCannotBreakThePage) {
  const std::string evil = "</script><b onload='x()'>\"&\xFF<!--";
  const std::string page = to_html(named(evil), kScript), plain = to_html(named("name"), kScript);
  EXPECT_EQ(count(page, "<b "), 0u);
  EXPECT_EQ(count(page, "<!--"), 0u);
  EXPECT_EQ(page.find('\xFF'), std::string::npos);
  // No name opened or closed an element: both pages have the same ones.
  for (const char* tag : {"<script", "</script>", "<table", "</table>", "<tr", "<td", "<section", "<details", "<button",
                          "<option", "<li"})
    EXPECT_EQ(count(page, tag), count(plain, tag)) << tag;
  const Json data = Json::parse(between(page, "id=\"run-data\">", "</script>"));
  EXPECT_EQ(data["parameters"][0]["name"], valid_utf8(evil));
  EXPECT_EQ(data["metrics"][0], valid_utf8(evil));
}

// Figures of report.md and report.html against results.json, each read from its own text, rounded here by the rule that
// the format gives (3 decimals for metrics, 2 for times).
TEST(Reports, ShowTheSameNumbers) {
  const Record record = full_record();
  const Json json = Json::parse(to_json(record).dump());
  const std::string markdown = to_markdown(record), page = to_html(record, "");
  std::vector<size_t> order = {7, 6, 5, 4, 3, 2, 1, 0};  // rows by text: the reverse of the run order here

  std::vector<std::string> want, in_markdown, in_html;
  for (const size_t i : order)
    for (const char* metric : {"exact_match", "f1"})
      for (const char* side : {"baseline", "optimized"})
        want.push_back(fmt::format("{:.3f}", json["runs"][i]["evaluation"]["others"][side][metric].get<double>()));
  for (const std::string& line : lines(between(markdown, "## Non-time metrics\n", "## Time metrics")))
    if (line.starts_with("| `")) {
      const auto cells = markdown_row(line);
      in_markdown.insert(in_markdown.end(), {cells[4], cells[5], cells[7], cells[8]});
    }
  const auto figures = td_texts(between(page, "<section id=\"metrics\">", "<h3>"), "num");
  ASSERT_EQ(figures.size(), 8u * 7);
  for (size_t row = 0; row < 8; ++row)
    for (const size_t k : {0, 1, 3, 4}) in_html.push_back(figures[row * 7 + k]);
  EXPECT_EQ(in_markdown, want);
  EXPECT_EQ(in_html, want);

  const auto text = [](const Json& v) {
    return v.is_number() ? fmt::format("{:.2f}", v.get<double>()) : std::string("–");
  };
  size_t compared = 0, withheld = 0;
  for (const int batch : {1, 4, 8})
    for (const int length : {32, 64, 128}) {
      std::vector<std::string> card, ours;
      for (const size_t i : order)
        for (const Json& t : json["runs"][i]["evaluation"]["time"]) {
          if (t["batch_size"] != batch || t["input_length"] != length) continue;
          for (const char* key : {"latency_mean", "throughput"})
            for (const char* side : {"baseline", "optimized"})
              card.push_back(text(t[side].is_null() ? Json() : t[side][key]));
          for (const char* side : {"baseline", "optimized"}) {
            if (t[side].is_null()) continue;
            ours.push_back(std::to_string(t[side]["nb_forwards"].get<int64_t>()));
            ours.push_back(text(t[side]["samples_per_s"]));
            ours.push_back(text(t[side]["latency_std"]));
            for (const char* key : {"latency_50", "latency_90", "latency_95", "latency_99", "latency_999"}) {
              const bool absent = t[side][key].is_null();
              withheld += absent ? 1 : 0;
              ours.push_back(absent ? fmt::format("n<{}", t[side]["percentiles_needed"][key].get<int64_t>())
                                    : text(t[side][key]));
            }
          }
        }
      std::vector<std::string> card_markdown, ours_markdown, all_html;
      const std::string from =
          fmt::format("Below, time metrics for batch size = {}, input length = {}.\n\n", batch, length);
      for (const std::string& line : lines(between(markdown, from, "\n\n")))
        if (line.starts_with("| `")) {
          const auto cells = markdown_row(line);
          if (cells[4] != "–") card_markdown.insert(card_markdown.end(), {cells[4], cells[5], cells[7], cells[8]});
        }
      for (const std::string& line :
           lines(between(markdown, fmt::format("\nBatch size {}, input length {}:\n\n", batch, length), "\n\n")))
        if (line.starts_with("| `")) {
          const auto cells = markdown_row(line);
          ours_markdown.insert(ours_markdown.end(), cells.begin() + 4, cells.end());
        }
      std::erase(card, "–");
      EXPECT_EQ(card_markdown, card) << batch << "x" << length;
      EXPECT_EQ(ours_markdown, ours) << batch << "x" << length;
      const std::string start =
          fmt::format("<details class=\"time\" data-batch=\"{}\" data-length=\"{}\"", batch, length);
      all_html = td_texts(between(page, start, "</details>"), "num");
      std::erase(all_html, "–");
      for (std::string& cell : all_html)
        if (cell.starts_with("n&lt;")) cell = "n<" + cell.substr(5);
      std::vector<std::string> all = card;
      all.insert(all.end(), ours.begin(), ours.end());
      EXPECT_EQ(all_html, all) << batch << "x" << length;
      compared += all.size();
    }
  EXPECT_GT(compared, 1200u);
  EXPECT_GT(withheld, 100u);

  // The plots' data: value and text of each point.
  const Json data = Json::parse(between(page, "id=\"run-data\">", "</script>"));
  for (size_t row = 0; row < 8; ++row) {
    const Json& run = json["runs"][order[row]];
    const Json& cell = data["cells"][row];
    EXPECT_EQ(cell["metrics"]["f1"]["optimized"]["v"], run["evaluation"]["others"]["optimized"]["f1"]);
    for (size_t k = 0; k < run["evaluation"]["time"].size(); ++k) {
      const Json& t = run["evaluation"]["time"][k]["optimized"];
      if (t.is_null()) continue;
      EXPECT_EQ(cell["time"][k]["optimized"]["mean"]["v"], t["latency_mean"]);
      EXPECT_EQ(cell["time"][k]["optimized"]["mean"]["t"], text(t["latency_mean"]));
    }
  }
}

TEST(Reports, AreWrittenTogetherAndFromARereadRecordTheSame) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "assay_write_reports_test";
  std::filesystem::remove_all(folder);
  const auto paths = write_reports(full_record(), folder);
  ASSERT_EQ(paths.size(), 3u);
  const Record back = read_results(folder);
  EXPECT_EQ(read_text(folder / "report.md"), to_markdown(back));
  EXPECT_EQ(read_text(folder / "report.html"), to_html(back, html_plotly()));
  EXPECT_GT(html_plotly().size(), size_t{1} << 20);
}

}  // namespace
}  // namespace assay::report
