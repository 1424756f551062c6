#include "service/received_request.h"

#include <utility>

#include "service/wire_fields.h"

namespace tokendraw {
namespace {

constexpr int kLogits = v1::SampleTokensRequest::kLogitsFieldNumber;
constexpr int kShards = v1::LogitsTensor::kShardsFieldNumber;
constexpr int kShard = v1::VocabularyShards::kShardsFieldNumber;

// A message that holds a payload, without what is inline.
struct Stripped {
  Fragments rest;
  Fragments inline_bytes;
  int payloads = 0;
  bool has_inline = false;
};

template <typename Message>
bool IsPayload(int number) {
  const auto* field = Message::descriptor()->FindFieldByNumber(number);
  return field != nullptr && field->containing_oneof() != nullptr;
}

// Takes `field` if it is the inline payload of a Message.
template <typename Message>
FieldAction Strip(const WireField& field, Stripped& stripped) {
  if (!field.is_length_delimited || !IsPayload<Message>(field.number)) return FieldAction::kKeep;
  // Of several payloads the last counts, and equal ones are merged: left to protobuf.
  if (++stripped.payloads > 1) return FieldAction::kGiveUp;
  if (field.number != Message::kInlineFieldNumber) return FieldAction::kKeep;
  stripped.has_inline = true;
  AppendBytes(field.body, field.size, stripped.inline_bytes);
  return FieldAction::kTake;
}

bool Parse(const Fragments& bytes, google::protobuf::Message& message) {
  FragmentStream stream(bytes);
  return message.ParseFromZeroCopyStream(&stream);
}

template <typename Message>
bool Parse(const Stripped& stripped, Message& message) {
  if (!Parse(stripped.rest, message)) return false;
  if (stripped.has_inline) message.mutable_inline_();  // empty, but it says which payload there is
  return true;
}

}  // namespace

// Cuts the inline payloads out of the serialised bytes: a message without some of its fields is a
// message. False, with nothing promised, if the bytes are unusual; protobuf decides then.
bool ReceivedRequest::ReadInPlace(const Fragments& bytes) {
  Fragments rest;
  Stripped logits;
  bool has_logits = false;
  bool has_shards = false;
  Fragments shards_rest;
  std::vector<Stripped> shards;

  const auto strip_shard = [&](const WireField& field) {
    if (field.number != kShard || !field.is_length_delimited) return FieldAction::kKeep;
    // A hostile message could name millions.
    if (shards.size() == size_t{kMostShards}) return FieldAction::kGiveUp;
    Stripped& shard = shards.emplace_back();
    const bool usual = ForEachField(field.body, field.size, shard.rest, [&](const WireField& part) {
      return Strip<v1::VocabularyShard>(part, shard);
    });
    return usual ? FieldAction::kTake : FieldAction::kGiveUp;
  };
  const auto strip_logits = [&](const WireField& field) {
    const FieldAction action = Strip<v1::LogitsTensor>(field, logits);
    if (action != FieldAction::kKeep || field.number != kShards || !field.is_length_delimited) {
      return action;
    }
    has_shards = true;
    return ForEachField(field.body, field.size, shards_rest, strip_shard) ? FieldAction::kTake
                                                                          : FieldAction::kGiveUp;
  };
  const auto strip_request = [&](const WireField& field) {
    if (field.number != kLogits || !field.is_length_delimited) return FieldAction::kKeep;
    if (std::exchange(has_logits, true)) return FieldAction::kGiveUp;
    return ForEachField(field.body, field.size, logits.rest, strip_logits) ? FieldAction::kTake
                                                                           : FieldAction::kGiveUp;
  };
  if (!ForEachField(FragmentCursor(bytes), static_cast<size_t>(size_), rest, strip_request)) {
    return false;
  }

  if (!Parse(rest, message_)) return false;
  if (!has_logits) return true;
  v1::LogitsTensor& tensor = *message_.mutable_logits();
  if (!Parse(logits, tensor)) return false;
  if (logits.has_inline) inline_.push_back(std::move(logits.inline_bytes));
  if (!has_shards) return true;
  if (!Parse(shards_rest, *tensor.mutable_shards())) return false;
  for (Stripped& shard : shards) {
    if (!Parse(shard, *tensor.mutable_shards()->add_shards())) return false;
    inline_.push_back(std::move(shard.inline_bytes));
  }
  return true;
}

void ReceivedRequest::PointIntoMessage() {
  const auto view = [](const std::string& bytes) {
    return Fragments{std::as_bytes(std::span(bytes.data(), bytes.size()))};
  };
  const v1::LogitsTensor& logits = message_.logits();
  if (logits.has_inline_()) inline_.push_back(view(logits.inline_()));
  for (const v1::VocabularyShard& shard : logits.shards().shards()) {
    inline_.push_back(shard.has_inline_() ? view(shard.inline_()) : Fragments());
  }
}

absl::Status ReceivedRequest::Read(grpc::ByteBuffer&& bytes) {
  Clear();
  bytes_.Swap(&bytes);
  size_ = static_cast<int64_t>(bytes_.Length());
  Fragments fragments;
  if (bytes_.Dump(&slices_).ok()) {
    for (const grpc::Slice& slice : slices_) {
      fragments.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
    }
    if (ReadInPlace(fragments)) return absl::OkStatus();
    inline_.clear();
    if (Parse(fragments, message_)) {
      PointIntoMessage();
      return absl::OkStatus();
    }
  }
  Clear();
  return absl::InvalidArgumentError("the message is not a serialised SampleTokensRequest");
}

void ReceivedRequest::Take(v1::SampleTokensRequest&& message) {
  Clear();
  message_ = std::move(message);
  PointIntoMessage();
}

void ReceivedRequest::Clear() {
  slices_.clear();
  bytes_.Clear();
  size_ = 0;
  message_.Clear();
  inline_.clear();
}

}  // namespace tokendraw
