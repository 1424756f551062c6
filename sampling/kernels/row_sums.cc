// Sums over a row whose largest logits are known.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/kernels/row_sums.cc"
//
#include "hwy/foreach_target.h"
//
#include "sampling/kernels/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokendraw::sampling::HWY_NAMESPACE {
namespace {

template <SumKind kKind>
RowSums SumWide(double temperature, FeedRow feed) {
  return *SumFed(ExpSums<kKind, WideTerms>(temperature), feed);
}

RowSums SumRowImpl(Blocks blocks, const float* block_max, const SumRequest& request) {
  const auto feed = [&](AddBlock add) {
    for (size_t i = 0; i < blocks.size(); ++i) add(blocks[i], block_max[i]);
  };
  if (const std::optional<RowSums> sums = SumFedBlocks(request, feed)) return *sums;

  const float max = *std::max_element(block_max, block_max + blocks.size());
  const auto feed_with_max = [&](AddBlock add) {
    for (const float* block : blocks) add(block, max);
  };
  switch (request.kind) {
    case SumKind::kExp:
      return SumWide<SumKind::kExp>(request.temperature, feed_with_max);
    case SumKind::kWeighted:
      return SumWide<SumKind::kWeighted>(request.temperature, feed_with_max);
    case SumKind::kSquared:
      return SumWide<SumKind::kSquared>(request.temperature, feed_with_max);
    case SumKind::kNone:
    case SumKind::kStddev:
      break;
  }
  return {};
}

}  // namespace
}  // namespace tokendraw::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tokendraw::sampling {

HWY_EXPORT(SumRowImpl);

RowSums SumRow(Blocks blocks, std::span<const float> block_max, const SumRequest& request) {
  return HWY_DYNAMIC_DISPATCH(SumRowImpl)(blocks, block_max.data(), request);
}

}  // namespace tokendraw::sampling
#endif  // HWY_ONCE
