#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "workloads/metrics/classification.h"
#include "workloads/metrics/entities.h"
#include "workloads/metrics/squad.h"

namespace assay::workloads {
namespace {

using Ids = std::vector<int64_t>;
using Values = std::vector<double>;
using Labels = std::vector<std::string>;
using testing::ElementsAre;

TEST(SquadMetric, NormalFormIsTheOfficialScripts) {
  EXPECT_EQ(normalize_answer("The  Cat, a-an\tand AN other."), "cat aan and other");
  EXPECT_EQ(normalize_answer("  A  "), "");
  EXPECT_EQ(normalize_answer("the_theory"), "thetheory");             // '_' goes before words are looked at
  EXPECT_EQ(normalize_answer("\u00a0an\u3000apple"), "apple");        // Unicode white space
  EXPECT_EQ(normalize_answer("\u00ab the \u00bb"), "\u00ab \u00bb");  // only ASCII punctuation is dropped
  EXPECT_EQ(normalize_answer("\u00e9a"), "\u00e9a");                  // no boundary between letters
  EXPECT_EQ(normalize_answer("\u20ac"
                             "a"),
            "\u20ac");  // the euro sign bounds a word: "€a" -> "€ "
  EXPECT_EQ(normalize_answer("\u2019a\u2019"), "\u2019 \u2019");
  EXPECT_EQ(normalize_answer("2a a2 a\u00bd"), "2a a2 a\u00bd");  // numerals are word characters
  EXPECT_EQ(normalize_answer("\u0391\u03a3"), "\u03b1\u03c2");    // final sigma
  EXPECT_EQ(normalize_answer("\u0130"), "i\u0307");
}

TEST(SquadMetric, BestReferenceWins) {
  EXPECT_EQ(squad_exact_match("The Broncos", {"Denver Broncos", "broncos!"}), 1.0);
  EXPECT_EQ(squad_exact_match("Denver", {"Denver Broncos"}), 0.0);
  EXPECT_DOUBLE_EQ(squad_f1("Denver", {"Denver Broncos", "x"}), 2.0 / 3.0);
  // Multisets: two of three "to" are shared.
  EXPECT_DOUBLE_EQ(squad_f1("to to be", {"to to to"}), 2.0 * (2.0 / 3) * (2.0 / 3) / (4.0 / 3));
  EXPECT_EQ(squad_f1("", {"x"}), 0.0);
  // Both empty after normalisation: equal, but no word in common (as the script has it).
  EXPECT_EQ(squad_exact_match("the", {"a"}), 1.0);
  EXPECT_EQ(squad_f1("the", {"a"}), 0.0);
  EXPECT_EQ(squad_f1("x", {}), 0.0);
}

TEST(Classes, KnownValues) {
  // scikit-learn's documentation: f1_score([0,1,2,0,1,2], [0,2,1,0,0,1]) macro 0.26666, weighted 0.26666.
  const Ids real{0, 1, 2, 0, 1, 2}, guess{0, 2, 1, 0, 0, 1};
  EXPECT_NEAR(f1_macro(guess, real), 0.8 / 3, 1e-12);
  EXPECT_NEAR(f1_weighted(guess, real), 0.8 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(accuracy(guess, real), 2.0 / 6);
  // matthews_corrcoef([+1,+1,+1,-1], [+1,-1,+1,+1]) = -0.3333
  EXPECT_NEAR(matthews_correlation(Ids{1, -1, 1, 1}, Ids{1, 1, 1, -1}), -1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(f1_of_class(Ids{1, 1, 0, 0}, Ids{1, 0, 1, 0}, 1), 0.5);
}

TEST(Classes, RatiosWithoutDenominatorAreZero) {
  EXPECT_EQ(matthews_correlation(Ids{1, 1, 1}, Ids{0, 1, 0}), 0.0);
  EXPECT_EQ(f1_of_class(Ids{0, 0}, Ids{0, 0}, 1), 0.0);
  EXPECT_EQ(accuracy(Ids{}, Ids{}), 0.0);
  EXPECT_EQ(f1_macro(Ids{}, Ids{}), 0.0);
  EXPECT_THROW(accuracy(Ids{1}, Ids{}), Error);
}

TEST(Correlation, KnownValues) {
  // scipy: pearsonr([1,2,3,4,5], [10,9,2.5,6,4]) = -0.7426107, spearmanr([1,2,3,4,5], [5,6,7,8,7]) = 0.8207827.
  EXPECT_NEAR(pearson(Values{1, 2, 3, 4, 5}, Values{10, 9, 2.5, 6, 4}), -0.7426106572325056, 1e-12);
  EXPECT_NEAR(spearman(Values{1, 2, 3, 4, 5}, Values{5, 6, 7, 8, 7}), 0.8207826816681233, 1e-12);
  EXPECT_NEAR(spearman(Values{1, 10, 100}, Values{-3, 2, 2.5}), 1.0, 1e-12);
  EXPECT_EQ(pearson(Values{1, 1, 1}, Values{1, 2, 3}), 0.0);
  EXPECT_EQ(spearman(Values{}, Values{}), 0.0);
}

TEST(Entities, ConllevalRules) {
  const auto found = [](const Labels& l) {
    Labels out;
    for (const Entity& e : entities(l)) out.push_back(e.type + std::to_string(e.first) + "-" + std::to_string(e.last));
    return out;
  };
  EXPECT_THAT(found({"B-PER", "I-PER", "O", "B-LOC"}), ElementsAre("LOC3-3", "PER0-1"));
  EXPECT_THAT(found({"I-PER", "I-PER", "O"}), ElementsAre("PER0-1"));       // IOB1: I opens
  EXPECT_THAT(found({"I-PER", "B-PER"}), ElementsAre("PER0-0", "PER1-1"));  // IOB1: B between neighbours
  EXPECT_THAT(found({"B-PER", "I-LOC"}), ElementsAre("LOC1-1", "PER0-0"));  // the type changes
  EXPECT_THAT(found({"B-PER", "B-PER"}), ElementsAre("PER0-0", "PER1-1"));
  EXPECT_THAT(found({"S-A", "B-A", "E-A", "E-A"}), ElementsAre("A0-0", "A1-2", "A3-3"));  // BIOES
  EXPECT_THAT(found({"B-creative-work", "I-creative-work"}), ElementsAre("creative-work0-1"));
  EXPECT_THAT(found({"O", "O"}), ElementsAre());
  EXPECT_THAT(found({}), ElementsAre());
  EXPECT_THAT(found({"B", "I", "O"}), ElementsAre("_0-1"));
}

TEST(Entities, ScoresOfSeqevalsReadme) {
  // seqeval's README: f1_score = 0.50, accuracy_score = 0.80.
  const std::vector<Labels> real{{"O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"}, {"B-PER", "I-PER", "O"}};
  const std::vector<Labels> guess{{"O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"}, {"B-PER", "I-PER", "O"}};
  const EntityScores s = score_entities(guess, real);
  EXPECT_DOUBLE_EQ(s.precision, 0.5);
  EXPECT_DOUBLE_EQ(s.recall, 0.5);
  EXPECT_DOUBLE_EQ(s.f1, 0.5);
  EXPECT_DOUBLE_EQ(s.accuracy, 0.8);
}

TEST(Entities, NothingPredictedIsZeroNotNan) {
  const EntityScores s = score_entities({{"O", "O"}}, {{"B-X", "O"}});
  EXPECT_EQ(s.precision, 0.0);
  EXPECT_EQ(s.f1, 0.0);
  EXPECT_EQ(s.accuracy, 0.5);
  EXPECT_THROW(score_entities({{"O"}}, {{"O", "O"}}), Error);
}

}  // namespace
}  // namespace assay::workloads
