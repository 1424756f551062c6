// From the bytes of a row to float32 logits in place, with the maxima of its blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/read_row.cc"
//
#include "hwy/foreach_target.h"
//
#include <bit>
#include <cstring>

#include "sampling/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

using HalfU16 = hn::Rebind<uint16_t, U32>;

HWY_INLINE hn::Vec<U32> LoadHalves(const std::byte* at) {
  const hn::Repartition<uint8_t, HalfU16> bytes;
  const HalfU16 halves;
  return hn::PromoteTo(U32(),
                       hn::BitCast(halves, hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(at))));
}

// Element formats: Load reads one vector at any alignment, kMaskedBits is -inf.
struct F32Format {
  using Element = uint32_t;
  static constexpr Element kMaskedBits = 0xFF800000;
  static HWY_INLINE VF32 Load(const std::byte* at) {
    const hn::Repartition<uint8_t, F32> bytes;
    return hn::BitCast(F32(), hn::LoadU(bytes, reinterpret_cast<const uint8_t*>(at)));
  }
};

struct BF16Format {
  using Element = uint16_t;
  static constexpr Element kMaskedBits = 0xFF80;
  static HWY_INLINE VF32 Load(const std::byte* at) {
    return hn::BitCast(F32(), hn::ShiftLeft<16>(LoadHalves(at)));
  }
};

// As a float32 with its fraction in place, a half is 2^-112 times its value, subnormals too. What
// comes out at 2^16 or above was infinity or NaN.
struct F16Format {
  using Element = uint16_t;
  static constexpr Element kMaskedBits = 0xFC00;
  static HWY_INLINE VF32 Load(const std::byte* at) {
    const F32 d;
    const U32 du;
    const auto half = LoadHalves(at);
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7FFF)));
    const VF32 value = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
    const auto special = hn::IfThenElseZero(hn::Ge(value, hn::Set(d, 0x1p16f)),
                                            hn::BitCast(d, hn::Set(du, 0x7F800000)));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000)));
    return hn::Or(hn::Or(value, special), hn::BitCast(d, sign));
  }
};

// Statistics of one block after another.
class Scanner {
 public:
  // `load(i)` gives the vector of logits from i on as they came, `store(i, x)` what is left of it.
  template <typename Load, typename Store>
  HWY_INLINE float Block(const Load& load, const Store& store) {
    const F32 d;
    const size_t lanes = hn::Lanes(d);
    const VF32 infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    VF32 max = hn::Set(d, kMasked);
    auto finite = hn::Lt(max, infinity);
    for (size_t i = 0; i < kBlockSize; i += lanes) {
      const VF32 came = load(i);
      finite = hn::And(finite, hn::Lt(came, infinity));  // false for NaN
      max = hn::Max(max, store(i, came));
    }
    scan_.finite = scan_.finite && hn::AllTrue(d, finite);
    // MaxOfLanes of nothing but -inf is the lowest finite float in Highway's emulation.
    const bool masked = hn::AllTrue(d, hn::Eq(max, hn::Set(d, kMasked)));
    const float block_max = masked ? kMasked : hn::GetLane(hn::MaxOfLanes(d, max));
    scan_.max = std::max(scan_.max, block_max);
    return block_max;
  }

  RowScan scan() const { return scan_; }

 private:
  RowScan scan_ = {.max = kMasked};
};

// Sets the lanes of `x` to -inf whose bit, from bit `first` of `mask` on, is 0.
HWY_INLINE VF32 Mask(VF32 x, const std::byte* mask, size_t first) {
  const F32 d;
  uint64_t bits = 0;  // LoadMaskBits may read eight bytes
  std::memcpy(&bits, mask + first / 8, hn::Lanes(d) > 8 ? 2 : 1);
  bits >>= first % 8;
  const auto allowed = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
  return hn::IfThenElse(allowed, x, hn::Set(d, kMasked));
}

template <typename Format>
RowScan ReadFormat(const LogitsRow& row, const std::byte* mask, float* logits, float* block_max) {
  using Element = typename Format::Element;
  constexpr size_t kMaskBytes = kBlockSize / 8;
  const F32 d;
  const auto* bytes = static_cast<const std::byte*>(row.data);
  const auto count = static_cast<size_t>(row.vocab_size);
  const size_t whole = count / kBlockSize;
  Scanner scanner;
  const auto read_block = [&](const std::byte* block, const std::byte* bits,
                              size_t index) HWY_ATTR {
    float* out = logits + index * kBlockSize;
    const auto load = [&](size_t i) HWY_ATTR { return Format::Load(block + i * sizeof(Element)); };
    const auto store_all = [&](size_t i, VF32 x) HWY_ATTR {
      hn::StoreU(x, d, out + i);
      return x;
    };
    const auto store_allowed = [&](size_t i, VF32 x)
                                   HWY_ATTR { return store_all(i, Mask(x, bits, i)); };
    block_max[index] =
        bits == nullptr ? scanner.Block(load, store_all) : scanner.Block(load, store_allowed);
  };
  for (size_t index = 0; index < whole; ++index) {
    read_block(bytes + index * kBlockSize * sizeof(Element),
               mask == nullptr ? nullptr : mask + index * kMaskBytes, index);
  }
  if (const size_t rest = count % kBlockSize; rest > 0) {
    std::array<Element, kBlockSize> padded;
    padded.fill(Format::kMaskedBits);
    std::memcpy(padded.data(), bytes + whole * kBlockSize * sizeof(Element),
                rest * sizeof(Element));
    std::array<std::byte, kMaskBytes> bits{};
    if (mask != nullptr) std::memcpy(bits.data(), mask + whole * kMaskBytes, (rest + 7) / 8);
    read_block(reinterpret_cast<const std::byte*>(padded.data()),
               mask == nullptr ? nullptr : bits.data(), whole);
  }
  return scanner.scan();
}

RowScan ReadRowImpl(const LogitsRow& row, const std::byte* mask, float* logits, float* block_max) {
  switch (row.type) {
    case DataType::kF32:
      return ReadFormat<F32Format>(row, mask, logits, block_max);
    case DataType::kF16:
      return ReadFormat<F16Format>(row, mask, logits, block_max);
    case DataType::kBF16:
      return ReadFormat<BF16Format>(row, mask, logits, block_max);
  }
  return {};
}

RowScan ScanRowImpl(std::span<const float> logits, float* block_max) {
  const F32 d;
  Scanner scanner;
  ForEachBlock(logits, [&](const float* block, size_t index) HWY_ATTR {
    const auto load = [&](size_t i) HWY_ATTR { return hn::LoadU(d, block + i); };
    const auto keep = [](size_t, VF32 x) HWY_ATTR { return x; };
    block_max[index] = scanner.Block(load, keep);
  });
  return scanner.scan();
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

static_assert(std::endian::native == std::endian::little, "rows are little-endian");

HWY_EXPORT(ReadRowImpl);
HWY_EXPORT(ScanRowImpl);

RowScan ReadRow(const LogitsRow& row, const std::byte* allowed_mask, float* logits,
                std::span<float> block_max) {
  return HWY_DYNAMIC_DISPATCH(ReadRowImpl)(row, allowed_mask, logits, block_max.data());
}

RowScan ScanRow(std::span<const float> logits, std::span<float> block_max) {
  return HWY_DYNAMIC_DISPATCH(ScanRowImpl)(logits, block_max.data());
}

int32_t FirstNotFinite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] <= std::numeric_limits<float>::max())) return static_cast<int32_t>(i);
  }
  return -1;
}

size_t ElementSize(DataType type) {
  return type == DataType::kF32 ? sizeof(float) : sizeof(uint16_t);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
