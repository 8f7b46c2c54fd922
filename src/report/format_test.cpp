#include "report/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::report {
namespace {

TEST(Format, FiguresAndTheirAbsence) {
  EXPECT_EQ(metric_text(87.232), "87.232");
  EXPECT_EQ(metric_text(0.8), "0.800");
  EXPECT_EQ(metric_text(std::nullopt), "–");
  EXPECT_EQ(metric_text(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(time_text(138.4), "138.40");
  EXPECT_EQ(time_text(-1.0), "–");  // Optimum's "nothing was timed"
  EXPECT_EQ(difference_text(-1.135), "-1.135");
  EXPECT_EQ(difference_text(0.5), "+0.500");
  EXPECT_EQ(difference_text(-0.0001), "0.000");
  EXPECT_EQ(ratio_text(47.87, 7.23), "6.62×");
  EXPECT_EQ(ratio_text(1.0, 0.0), "–");
  EXPECT_EQ(bytes_text(45'144'116), "45.1 MB");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(std::nullopt), "–");
  EXPECT_EQ(percentile_text({7.157, 0}), "7.16");
  EXPECT_EQ(percentile_text({std::nullopt, 500}), "n<500");
  EXPECT_EQ(percentile_text({}), "–");
}

TEST(Format, PythonRepr) {
  // Python 3: repr() of the same values.
  EXPECT_EQ(python_repr(Json::parse(R"({"instance_type": "ml.g4dn.2xlarge", "supported_instructions": null})")),
            "{'instance_type': 'ml.g4dn.2xlarge', 'supported_instructions': None}");
  EXPECT_EQ(python_repr(Json::parse(R"([true, false, 1, -2, 1.0, 0.00001, 1e16, 99.999, []])")),
            "[True, False, 1, -2, 1.0, 1e-05, 1e+16, 99.999, []]");
  EXPECT_EQ(python_repr("it's"), "\"it's\"");
  EXPECT_EQ(python_repr("it's \"so\""), "'it\\'s \"so\"'");
  EXPECT_EQ(python_repr("a\nb\\c\x01"), "'a\\nb\\\\c\\x01'");
  EXPECT_EQ(value_text("plain"), "plain");
  EXPECT_EQ(short_text(Json::parse("[]")), "none");
  EXPECT_EQ(short_text(Json::parse(R"(["Add", "MatMul"])")), "Add, MatMul");
}

TEST(Format, Escapes) {
  EXPECT_EQ(html_escape("</script><b a='\"'>&"), "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;");
  EXPECT_EQ(html_escape(std::string_view("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(markdown_escape("exact_match _x_ a|b <i> [l](u) `c`\nd"),
            "exact_match \\_x\\_ a\\|b \\<i\\> \\[l\\](u) \\`c\\` d");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("`a`"), "`` `a` ``");
  EXPECT_EQ(markdown_code("a|b", true), "`a\\|b`");
  EXPECT_EQ(script_json(Json("</script>&")), "\"\\u003c/script\\u003e\\u0026\"");
  EXPECT_EQ(Json::parse(script_json(Json("</script>&"))), Json("</script>&"));
}

TEST(Format, BytesThatAreNoUtf8BecomeReplacements) {
  EXPECT_EQ(valid_utf8("gr\u00fc\u00dfe \u4f60\u597d \U0001F600"), "gr\u00fc\u00dfe \u4f60\u597d \U0001F600");
  EXPECT_EQ(valid_utf8("a\xC3"), "a\uFFFD");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(valid_utf8("\xF5\x80\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
}

}  // namespace
}  // namespace assay::report
