#include "workloads/batch.h"

#include <algorithm>

#include "base/error.h"

namespace assay::workloads {
namespace {

int64_t dim(const Port& port, size_t i) {
  if (!port.type.dims || i >= port.type.dims->size()) return -1;
  return (*port.type.dims)[i].size;
}

template <typename T>
void fill(Tensor& tensor, int64_t length, std::span<const Feature* const> rows, int64_t total, auto value) {
  T* out = tensor.mutable_view().as<T>();
  for (int64_t r = 0; r < total; ++r) {
    const Feature& f = *rows[std::min(static_cast<size_t>(r), rows.size() - 1)];
    for (int64_t t = 0; t < length; ++t) out[r * length + t] = static_cast<T>(value(f, t));
  }
}

}  // namespace

Batcher::Batcher(const std::vector<Port>& inputs, int64_t pad_id) : pad_id_(pad_id) {
  for (const Port& port : inputs) {
    const std::string name = port.name.substr(0, port.name.find(':'));  // "input_ids:0" in converted graphs
    const DType dtype = port.type.dtype;
    Input input{Role::kIds, dtype};
    const int64_t rows = dim(port, 0);
    if (dtype == DType::kFloat32 && port.type.dims && port.type.dims->size() == 4) {
      input.role = dim(port, 3) == 3 && dim(port, 1) != 3 ? Role::kPixelsLast : Role::kPixels;
      const size_t first = input.role == Role::kPixels ? 2 : 1;
      input.height = dim(port, first);
      input.width = dim(port, first + 1);
    } else {
      if (name == "input_ids" || name == "ids")
        input.role = Role::kIds;
      else if (name == "attention_mask" || name == "input_mask")
        input.role = Role::kMask;
      else if (name == "token_type_ids" || name == "segment_ids")
        input.role = Role::kTypes;
      else if (name == "position_ids")
        input.role = Role::kPositions;
      else
        fail(ErrorCode::kInvalidArgument,
             "nothing is known to feed the model's input '{}'; text models have input_ids, attention_mask or "
             "input_mask, "
             "token_type_ids or segment_ids, position_ids; picture models one float32 input of rank 4",
             port.name);
      require(dtype == DType::kInt64 || dtype == DType::kInt32, ErrorCode::kInvalidArgument,
              "input '{}' should be int64 or int32, the model says {}", port.name, to_string(dtype));
      fixed_length_ = std::max(fixed_length_, dim(port, 1));
    }
    fixed_rows_ = std::max(fixed_rows_, rows);
    inputs_.push_back(input);
  }
  require(!inputs_.empty(), ErrorCode::kInvalidArgument, "the model has no inputs");
}

void Batcher::check(const Feature& feature) const {
  for (const Input& in : inputs_) {
    if (in.role != Role::kPixels && in.role != Role::kPixelsLast) {
      require(!feature.ids.empty(), ErrorCode::kInvalidArgument, "the model takes tokens, the task gives pictures");
      continue;
    }
    require(bool(feature.pixels), ErrorCode::kInvalidArgument, "the model takes pictures, the task gives tokens");
    const Shape& s = feature.pixels.shape();
    require((in.height < 0 || in.height == s[1]) && (in.width < 0 || in.width == s[2]), ErrorCode::kInvalidArgument,
            "the model takes pictures of {} x {}, preprocessing gives {} x {} (height x width)", in.height, in.width,
            s[1], s[2]);
  }
  require(fixed_length_ <= 0 || feature.length() <= fixed_length_, ErrorCode::kInvalidArgument,
          "the row has {} tokens, the model takes {}: set the maximum length to {}", feature.length(), fixed_length_,
          fixed_length_);
}

std::vector<Tensor> Batcher::make(std::span<const Feature* const> rows, int64_t length) const {
  const auto given = static_cast<int64_t>(rows.size());
  const int64_t total = fixed_rows_ > 0 ? fixed_rows_ : given;
  require(given >= 1 && given <= total, ErrorCode::kInternal, "{} rows in a batch of {}", given, total);
  std::vector<Tensor> out;
  for (const Input& in : inputs_) {
    if (in.role == Role::kPixels || in.role == Role::kPixelsLast) {
      const Shape& s = rows[0]->pixels.shape();
      const bool last = in.role == Role::kPixelsLast;
      Tensor t(DType::kFloat32, last ? Shape{total, s[1], s[2], s[0]} : Shape{total, s[0], s[1], s[2]});
      float* dst = t.mutable_view().as<float>();
      const int64_t plane = s[1] * s[2], size = s.elements();
      for (int64_t r = 0; r < total; ++r, dst += size) {
        const Tensor& pixels = rows[std::min(static_cast<size_t>(r), rows.size() - 1)]->pixels;
        require(pixels.shape() == s, ErrorCode::kInvalidArgument,
                "pictures of {} and {} in one batch: the preprocessor config sets no common size, use batches of 1",
                s.str(), pixels.shape().str());
        const auto src = pixels.values<float>();
        if (!last) {
          std::copy(src.begin(), src.end(), dst);
        } else {
          for (int64_t i = 0; i < plane; ++i)
            for (int64_t c = 0; c < s[0]; ++c) dst[i * s[0] + c] = src[static_cast<size_t>(c * plane + i)];
        }
      }
      out.push_back(std::move(t));
      continue;
    }
    const auto value = [&](const Feature& f, int64_t t) -> int64_t {
      const bool real = t < f.length();
      switch (in.role) {
        case Role::kIds:
          return real ? f.ids[static_cast<size_t>(t)] : pad_id_;
        case Role::kTypes:
          return real ? f.type_ids[static_cast<size_t>(t)] : 0;
        case Role::kPositions:
          return t;
        default:
          return real ? 1 : 0;
      }
    };
    Tensor t(in.dtype, Shape{total, length});
    if (in.dtype == DType::kInt64)
      fill<int64_t>(t, length, rows, total, value);
    else
      fill<int32_t>(t, length, rows, total, value);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace assay::workloads
