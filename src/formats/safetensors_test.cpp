#include "formats/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>

#include "formats/formats_test_util.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SafetensorsTest : public FolderTest {};

std::string file_of(const std::string& header, size_t data_bytes) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(header.size() >> shift & 0xff);
  return out + header + std::string(data_bytes, '\1');
}

Safetensors parse(const std::string& bytes) { return Safetensors::parse(std::as_bytes(std::span(bytes)), nullptr); }

TEST_F(SafetensorsTest, WritesTheReferenceLayoutAndReadsItBack) {
  std::map<std::string, Tensor> all;
  all["b"] = Tensor::from<float>(Shape{2}, {1, 2});
  all["a"] = Tensor::from<float>(Shape{1, 1}, {3});
  all["half"] = Tensor(DType::kFloat16, Shape{3});
  all["ids"] = Tensor::from<int64_t>(Shape{1}, {7});
  all["flag"] = Tensor::from<bool>(Shape{3}, {true, false, true});
  all["scalar"] = Tensor::scalar<double>(0.5);
  all["none"] = Tensor(DType::kInt8, Shape{0, 4});
  write_safetensors(folder_ / "m.safetensors", all);
  const std::string bytes = read_text(folder_ / "m.safetensors");
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  // Wider types first, then by name.
  std::vector<size_t> places;
  for (const char* key : {"\"ids\"", "\"scalar\"", "\"a\"", "\"b\"", "\"half\"", "\"none\"", "\"flag\""})
    places.push_back(bytes.find(key));
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  const Safetensors back = Safetensors::open(folder_ / "m.safetensors");
  ASSERT_EQ(back.tensors().size(), all.size());
  EXPECT_EQ(back.metadata().at("format"), "pt");
  for (const auto& [name, tensor] : all) {
    const Tensor& t = back.tensors().at(name);
    EXPECT_EQ(t.dtype(), tensor.dtype());
    EXPECT_EQ(t.shape(), tensor.shape());
    EXPECT_TRUE(std::equal(t.raw().begin(), t.raw().end(), tensor.raw().begin(), tensor.raw().end())) << name;
  }
  if (!fs::exists(kPython)) GTEST_SKIP() << "build/venv is absent: the reference reader is not asked";
  write_text(folder_ / "check.py",
             "import sys\nfrom safetensors.numpy import load_file, save_file\n"
             "t = load_file(sys.argv[1])\nassert t['b'].tolist() == [1, 2] and t['scalar'] == 0.5 and t['none'].shape "
             "== (0, 4)\n"
             "save_file(t, sys.argv[2], metadata={'format': 'pt'})\n"
             "assert open(sys.argv[1], 'rb').read() == open(sys.argv[2], 'rb').read(), 'bytes differ'\n");
  EXPECT_TRUE(python(folder_ / "check.py", {(folder_ / "m.safetensors").string(), (folder_ / "r.safetensors").string()},
                     folder_ / "log"));
}

TEST_F(SafetensorsTest, AFileCutInHalfNamesBytesAndTensors) {
  std::map<std::string, Tensor> all;
  all["first"] = Tensor(DType::kFloat32, Shape{16});
  all["second"] = Tensor(DType::kFloat32, Shape{16});
  write_safetensors(folder_ / "m.safetensors", all);
  fs::resize_file(folder_ / "m.safetensors", fs::file_size(folder_ / "m.safetensors") - 60);
  try {
    Safetensors::open(folder_ / "m.safetensors");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kBadFile);
    EXPECT_THAT(e.what(), HasSubstr("60 bytes short"));
    EXPECT_THAT(e.what(), HasSubstr("'second'"));
    EXPECT_THAT(e.what(), ::testing::Not(HasSubstr("'first'")));
    EXPECT_THAT(e.what(), HasSubstr("m.safetensors"));
  }
}

// osaurus-ai/vmlx-swift#217, paiml/aprender#275: a file cut at any byte, single or a shard, is refused before use;
// what is cut names the bytes missing and every tensor that lacks some, and no other.
TEST_F(SafetensorsTest, AFileCutAnywhereIsRefusedNamingWhatIsMissing) {
  std::map<std::string, Tensor> all;
  const std::vector<std::string> order{"wide", "first", "second", "half", "flags"};  // as they lie in the file
  all["wide"] = Tensor(DType::kInt64, Shape{2});
  all["first"] = Tensor(DType::kFloat32, Shape{5});
  all["second"] = Tensor(DType::kFloat32, Shape{1, 3});
  all["half"] = Tensor(DType::kFloat16, Shape{3});
  all["flags"] = Tensor(DType::kBool, Shape{3});
  write_safetensors(folder_ / "whole.safetensors", all);
  const std::string whole = read_text(folder_ / "whole.safetensors");
  size_t data = 0;
  for (const auto& [name, tensor] : all) data += static_cast<size_t>(tensor.bytes());
  const size_t header = whole.size() - data;
  const auto shard = folder_ / "1.safetensors", index = folder_ / "model.safetensors.index.json";
  std::string map;
  for (const std::string& name : order) map += (map.empty() ? "\"" : ",\"") + name + "\":\"1.safetensors\"";
  write_text(index, R"({"weight_map":{)" + map + "}}");
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    write_text(shard, whole.substr(0, size));
    for (const bool sharded : {false, true}) {
      try {
        sharded ? Safetensors::open_folder(folder_) : Safetensors::open(shard);
        ADD_FAILURE() << "accepted";
      } catch (const Error& e) {
        const std::string what = e.what();
        EXPECT_EQ(e.code(), ErrorCode::kBadFile) << what;
        EXPECT_THAT(what, HasSubstr("1.safetensors"));
        if (size < header) continue;
        EXPECT_THAT(what, HasSubstr("is " + std::to_string(whole.size() - size) + " bytes short"));
        size_t end = header;
        for (const std::string& name : order) {
          end += static_cast<size_t>(all.at(name).bytes());
          EXPECT_EQ(what.find("'" + name + "'") != std::string::npos, end > size) << name << ": " << what;
        }
      }
    }
  }
  write_text(shard, whole);
  EXPECT_EQ(Safetensors::open_folder(folder_).tensors().size(), order.size());
}

TEST_F(SafetensorsTest, EveryDefectIsRefused) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  struct Defect {
    std::string bytes, word;
    ErrorCode code = ErrorCode::kBadFile;
  };
  std::string claims(8, '\xff');
  const std::vector<Defect> defects = {
      {"", "0 bytes"},
      {"1234567", "7 bytes"},
      {claims + "{}", "not a safetensors file"},
      {std::string("\x40\0\0\0\0\0\0\0{}", 10), "62 bytes short"},
      {file_of("", 0), "'{'"},
      {file_of("[]", 0), "'{'"},
      {file_of("{" + a, 8), "JSON"},
      {file_of("{" + a + "}", 7), "1 bytes short"},
      {file_of("{" + a + "}", 9), "1 bytes follow"},
      {file_of("{" + a + "," + a + "}", 8), "given twice"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", 8), "given twice"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), "gap"},
      {file_of("{" + a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), "overlap"},
      {file_of(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8), "F33"},
      {file_of(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1), "F4", ErrorCode::kUnsupported},
      {file_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "12"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "backwards"},
      {file_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "-2"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8), "2.0"},
      {file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", 8), "overflow",
       ErrorCode::kResourceExhausted},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8), "data_offsets"},
      {file_of(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", 8), "shape"},
      {file_of(R"({"a":7})", 8), "dtype"},
      {file_of(R"({"__metadata__":{"k":1}})", 0), "__metadata__"},
      {file_of("{\"a\":" + std::string(100000, '['), 0), "nested"},
  };
  for (const Defect& d : defects) {
    SCOPED_TRACE(d.bytes.substr(0, 120));
    try {
      parse(d.bytes);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), d.code) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(d.word));
    }
  }
}

TEST_F(SafetensorsTest, ShardsMustHoldExactlyWhatTheIndexSays) {
  const Tensor t = Tensor::from<float>(Shape{1}, {1});
  const auto index = folder_ / "model.safetensors.index.json";
  write_safetensors(folder_ / "1.safetensors", {{"a", t}});
  write_safetensors(folder_ / "2.safetensors", {{"b", t}, {"c", t}});
  const auto refused = [&](const std::string& map, const std::string& word) {
    write_text(index, R"({"weight_map":{)" + map + "}}");
    try {
      Safetensors::open_folder(folder_);
      ADD_FAILURE() << "accepted: " << map;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(word));
    }
  };
  refused(R"("a":"1.safetensors","b":"2.safetensors")", "'c'");
  refused(R"("a":"1.safetensors","b":"2.safetensors","c":"1.safetensors")", "'c'");
  refused(R"("a":"1.safetensors","b":"3.safetensors")", "3.safetensors");
  refused(R"("a":"../1.safetensors")", "beside the index");
  refused(R"("a":"1.safetensors","a":"2.safetensors")", "twice");
  refused(R"("a":3)", "'a'");
  write_text(index, R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"}})");
  EXPECT_EQ(Safetensors::open_folder(folder_).tensors().size(), 3u);
}

}  // namespace
}  // namespace assay
