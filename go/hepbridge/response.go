package hepbridge

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// response is a SubscribeResponse whose batches are still encoded: they are decoded one by one, in
// place, as the reader gets there.
type response struct {
	batches [][]byte
	cursor  string
	// draining is set if the gateway goes away.
	draining   bool
	retryDelay time.Duration
}

// Field numbers of SubscribeResponse.
const (
	fieldBatches  = 1
	fieldCursor   = 2
	fieldDraining = 6
)

// decode keeps data: the events will lie in it.
func (r *response) decode(data []byte) error {
	*r = response{batches: r.batches[:0]}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[n:])
			if err := r.set(number, value); err != nil {
				return err
			}
		}
		data = data[n+size:]
	}
	return nil
}

func (r *response) set(number protowire.Number, value []byte) error {
	switch number {
	case fieldBatches:
		r.batches = append(r.batches, value)
	case fieldCursor:
		r.cursor = string(value)
	case fieldDraining:
		var draining bridgev1.Draining
		if err := proto.Unmarshal(value, &draining); err != nil {
			return err
		}
		r.draining, r.retryDelay = true, draining.RetryDelay.AsDuration()
	}
	return nil
}

// responseCodec encodes requests as usual and decodes responses into *response.
type responseCodec struct{}

var _ encoding.CodecV2 = responseCodec{}

func (responseCodec) Name() string { return "proto" }

func (responseCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(proto.Message)
	if !ok {
		return nil, errors.New("not a proto message")
	}
	data, err := proto.Marshal(message)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

func (responseCodec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*response)
	if !ok {
		return fmt.Errorf("cannot decode into %T", v)
	}
	return r.decode(data.Materialize())
}
