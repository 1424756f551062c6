// From the bytes of a row to float32 logits in place, with the maxima of its blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/read_row.cc"
//
#include "hwy/foreach_target.h"
//
#include <bit>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "sampling/kernels/row_sums.h"
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

// Takes one block after another.
class Scanner {
 public:
  explicit Scanner(AddBlock add) : add_(add) {}

  // Returns the largest logit.
  HWY_INLINE float Take(const float* block) {
    const F32 d;
    const VF32 infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const size_t lanes = hn::Lanes(d);
    VF32 even_max = hn::Set(d, kMasked), odd_max = even_max;  // two, so that none waits for another
    auto even_finite = hn::Lt(even_max, infinity), odd_finite = even_finite;
    for (size_t i = 0; i < kBlockSize; i += 2 * lanes) {
      const VF32 even = hn::LoadU(d, block + i), odd = hn::LoadU(d, block + i + lanes);
      even_finite = hn::And(even_finite, hn::Lt(even, infinity));  // false for NaN
      odd_finite = hn::And(odd_finite, hn::Lt(odd, infinity));
      even_max = hn::Max(even_max, even);
      odd_max = hn::Max(odd_max, odd);
    }
    if (!hn::AllTrue(d, hn::And(even_finite, odd_finite))) finite_ = false;
    const VF32 max = hn::Max(even_max, odd_max);
    // MaxOfLanes of nothing but -inf is the lowest finite float in Highway's emulation.
    const bool masked = hn::AllTrue(d, hn::Eq(max, hn::Set(d, kMasked)));
    const float block_max = masked ? kMasked : hn::GetLane(hn::MaxOfLanes(d, max));
    max_ = std::max(max_, block_max);
    if (finite_) add_(block, block_max);
    return block_max;
  }

  // What came is not what Take sees.
  void Expect(bool finite) { finite_ = finite_ && finite; }

  RowScan scan() const { return {.max = max_, .finite = finite_}; }

 private:
  AddBlock add_;
  float max_ = kMasked;
  bool finite_ = true;
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

// Decodes a block. Returns whether there is no NaN and no +inf in it, masked or not.
template <typename Format>
HWY_INLINE bool DecodeBlock(const std::byte* block, const std::byte* mask, float* logits) {
  const F32 d;
  const VF32 infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  auto finite = hn::Lt(hn::Zero(d), infinity);
  for (size_t i = 0; i < kBlockSize; i += hn::Lanes(d)) {
    const VF32 x = Format::Load(block + i * sizeof(typename Format::Element));
    finite = hn::And(finite, hn::Lt(x, infinity));
    hn::StoreU(mask == nullptr ? x : Mask(x, mask, i), d, logits + i);
  }
  return hn::AllTrue(d, finite);
}

struct Destination {
  float* room;
  const float** blocks;
  float* block_max;
};

// Asks for the memory of a block some time before it is read: what hardware does by itself waits
// for the first touch of each page.
constexpr size_t kBlocksAhead = 4;
constexpr size_t kCacheLine = 64;

HWY_INLINE void Prefetch(std::span<const std::byte> bytes, size_t most) {
  for (size_t i = 0; i < std::min(bytes.size(), most); i += kCacheLine) {
    hwy::Prefetch(bytes.data() + i);
  }
}

template <typename Format>
void ReadFormat(const LogitsRow& row, const std::byte* mask, std::span<const Patch> patches,
                const Destination& to, Scanner& scanner) {
  using Element = typename Format::Element;
  constexpr size_t kBlockBytes = kBlockSize * sizeof(Element), kMaskBytes = kBlockSize / 8;
  RowBytes bytes(row), ahead(row);
  const auto count = static_cast<size_t>(row.vocab_size);
  auto patch = patches.begin();
  const auto is_patched = [&](size_t index) {
    return patch != patches.end() && static_cast<size_t>(patch->id) / kBlockSize == index;
  };
  const auto take = [&](const float* block, size_t index)
                        HWY_ATTR { to.block_max[index] = scanner.Take(block); };
  const auto take_own = [&](const std::byte* block, const std::byte* bits, size_t index) HWY_ATTR {
    float* const own = to.room + index * kBlockSize;
    scanner.Expect(DecodeBlock<Format>(block, bits, own));
    for (; is_patched(index); ++patch) to.room[patch->id] = patch->logit;
    to.blocks[index] = own;
    take(own, index);
  };
  alignas(kCacheLine) std::array<std::byte, kBlockBytes> joined;
  alignas(kCacheLine) std::array<float, kBlockSize> decoded;
  const size_t whole = count / kBlockSize;
  for (size_t index = 0; index < whole; ++index) {
    if (index + kBlocksAhead < whole) {
      ahead.Seek((index + kBlocksAhead) * kBlockBytes);
      Prefetch(ahead.Here(), kBlockBytes);
    }
    const std::byte* const block = bytes.Next(kBlockBytes, joined.data());
    const std::byte* const bits = mask == nullptr ? nullptr : mask + index * kMaskBytes;
    const bool is_float = std::is_same_v<Format, F32Format> &&
                          reinterpret_cast<uintptr_t>(block) % alignof(float) == 0;
    if (is_patched(index)) {
      take_own(block, bits, index);
    } else if (is_float && mask == nullptr) {
      const auto* const logits = reinterpret_cast<const float*>(block);
      to.blocks[index] = block == joined.data() ? nullptr : logits;
      take(logits, index);
    } else {
      to.blocks[index] = nullptr;
      scanner.Expect(DecodeBlock<Format>(block, bits, decoded.data()));
      take(decoded.data(), index);
    }
  }
  if (const size_t rest = count % kBlockSize; rest > 0) {
    const size_t size = rest * sizeof(Element);
    std::array<Element, kBlockSize> padded;
    padded.fill(Format::kMaskedBits);
    std::memcpy(padded.data(), bytes.Next(size, joined.data()), size);
    std::array<std::byte, kMaskBytes> bits{};
    if (mask != nullptr) std::memcpy(bits.data(), mask + whole * kMaskBytes, (rest + 7) / 8);
    take_own(reinterpret_cast<const std::byte*>(padded.data()),
             mask == nullptr ? nullptr : bits.data(), whole);
  }
}

RowScan ReadRowImpl(const LogitsRow& row, const std::byte* mask, std::span<const Patch> patches,
                    const SumRequest& request, float* room, const float** blocks,
                    float* block_max) {
  const Destination to = {room, blocks, block_max};
  RowScan scan;
  scan.sums = SumFedBlocks(request, [&](AddBlock add) {
    Scanner scanner(add);
    switch (row.type) {
      case DataType::kF32:
        ReadFormat<F32Format>(row, mask, patches, to, scanner);
        break;
      case DataType::kF16:
        ReadFormat<F16Format>(row, mask, patches, to, scanner);
        break;
      case DataType::kBF16:
        ReadFormat<BF16Format>(row, mask, patches, to, scanner);
        break;
    }
    scan = scanner.scan();
  });
  return scan;
}

template <typename Format>
void ReadBlockOf(RowBytes& row, const std::byte* mask, size_t index, float* logits) {
  constexpr size_t kBlockBytes = kBlockSize * sizeof(typename Format::Element);
  std::array<std::byte, kBlockBytes> joined;
  row.Seek(index * kBlockBytes);
  DecodeBlock<Format>(row.Next(kBlockBytes, joined.data()),
                      mask == nullptr ? nullptr : mask + index * kBlockSize / 8, logits);
}

void ReadBlockImpl(RowBytes& row, const std::byte* mask, size_t index, float* logits) {
  switch (row.type()) {
    case DataType::kF32:
      return ReadBlockOf<F32Format>(row, mask, index, logits);
    case DataType::kF16:
      return ReadBlockOf<F16Format>(row, mask, index, logits);
    case DataType::kBF16:
      return ReadBlockOf<BF16Format>(row, mask, index, logits);
  }
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

static_assert(std::endian::native == std::endian::little, "rows are little-endian");

HWY_EXPORT(ReadRowImpl);
HWY_EXPORT(ReadBlockImpl);

RowScan ReadRow(const LogitsRow& row, const std::byte* allowed_mask, std::span<const Patch> patches,
                const SumRequest& request, float* room, std::span<const float*> blocks,
                std::span<float> block_max) {
  return HWY_DYNAMIC_DISPATCH(ReadRowImpl)(row, allowed_mask, patches, request, room, blocks.data(),
                                           block_max.data());
}

void ReadBlock(RowBytes& row, const std::byte* allowed_mask, size_t index, float* logits) {
  HWY_DYNAMIC_DISPATCH(ReadBlockImpl)(row, allowed_mask, index, logits);
}

float ReadLogit(RowBytes& row, int32_t id) {
  const size_t size = ElementSize(row.type());
  std::array<std::byte, sizeof(float)> joined;
  row.Seek(static_cast<size_t>(id) * size);
  const std::byte* const at = row.Next(size, joined.data());
  if (row.type() == DataType::kF32) {
    float logit;
    std::memcpy(&logit, at, sizeof(logit));
    return logit;
  }
  uint16_t half;
  std::memcpy(&half, at, sizeof(half));
  const auto bits = static_cast<uint32_t>(half);
  if (row.type() == DataType::kBF16) return std::bit_cast<float>(bits << 16);
  // As in F16Format.
  const float magnitude = std::bit_cast<float>((bits & 0x7FFF) << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x1p16f ? 0x7F800000 : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | special | (bits & 0x8000) << 16);
}

size_t ElementSize(DataType type) {
  return type == DataType::kF32 ? sizeof(float) : sizeof(uint16_t);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
