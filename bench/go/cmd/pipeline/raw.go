package main

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that all but raw batches go through
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// rawBatch is an EventBatch already encoded.
type rawBatch []byte

// batchesField is the number of SubscribeResponse.batches.
const batchesField = 1

// rawCodec is grpc-go's own one, and sends a rawBatch as a SubscribeResponse that holds it alone.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	batch, ok := v.(rawBatch)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	head := protowire.AppendTag(nil, batchesField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(batch)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(batch)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

func (rawCodec) Name() string { return "proto" }
