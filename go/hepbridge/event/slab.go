package event

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// slab holds the messages of one batch side by side. Plain deltas, nearly all of what an agent
// writes, are read by hand into it; every other event takes proto.Unmarshal.
type slab struct {
	events        []eventv1.Event
	messageDeltas []messageDelta
	toolDeltas    []toolDelta
}

type messageDelta struct {
	payload eventv1.Event_MessageDelta
	frame   framev1.MessageDelta
}

type toolDelta struct {
	payload eventv1.Event_ToolDelta
	frame   framev1.ToolDelta
}

// Tags of the fields that a plain delta has: number << 3 | wire type, which is 0 for varints.
const (
	tagSequence     = 1 << 3
	tagOffset       = 2 << 3
	tagMessageDelta = 10<<3 | 2
	tagToolDelta    = 11<<3 | 2
	tagTurnID       = 1 << 3
	tagSecondText   = 2<<3 | 2
	tagThirdText    = 3<<3 | 2
)

// decode reads one Event into the next place of the slab.
func (s *slab) decode(data []byte) (*eventv1.Event, error) {
	s.events = s.events[:len(s.events)+1]
	event := &s.events[len(s.events)-1]
	if s.decodePlainDelta(event, data) {
		return event, nil
	}
	// Unmarshal resets what the attempt before left behind.
	return event, proto.Unmarshal(data, event)
}

// decodePlainDelta reports whether data was a message_delta or tool_delta with nothing unusual about
// it. If not, event is half filled.
func (s *slab) decodePlainDelta(event *eventv1.Event, data []byte) bool {
	for len(data) > 0 {
		tag := data[0]
		data = data[1:]
		switch tag {
		case tagSequence, tagOffset:
			v, n := protowire.ConsumeVarint(data)
			if n < 0 {
				return false
			}
			if tag == tagSequence {
				event.Sequence = int64(v)
			} else {
				event.ObserveOffsetUs = int64(v)
			}
			data = data[n:]
		case tagMessageDelta, tagToolDelta:
			body, n := protowire.ConsumeBytes(data)
			if n < 0 || event.Payload != nil {
				return false
			}
			if tag == tagMessageDelta {
				if !s.addMessageDelta(event, body) {
					return false
				}
			} else if !s.addToolDelta(event, body) {
				return false
			}
			data = data[n:]
		default:
			return false
		}
	}
	return event.Payload != nil
}

func (s *slab) addMessageDelta(event *eventv1.Event, data []byte) bool {
	if s.messageDeltas == nil {
		s.messageDeltas = make([]messageDelta, 0, cap(s.events)-len(s.events)+1)
	}
	s.messageDeltas = s.messageDeltas[:len(s.messageDeltas)+1]
	delta := &s.messageDeltas[len(s.messageDeltas)-1]
	delta.payload.MessageDelta = &delta.frame
	event.Payload = &delta.payload
	return decodeDelta(data, &delta.frame.TurnId, &delta.frame.Delta, nil)
}

func (s *slab) addToolDelta(event *eventv1.Event, data []byte) bool {
	if s.toolDeltas == nil {
		s.toolDeltas = make([]toolDelta, 0, cap(s.events)-len(s.events)+1)
	}
	s.toolDeltas = s.toolDeltas[:len(s.toolDeltas)+1]
	delta := &s.toolDeltas[len(s.toolDeltas)-1]
	delta.payload.ToolDelta = &delta.frame
	event.Payload = &delta.payload
	return decodeDelta(data, &delta.frame.TurnId, &delta.frame.Id, &delta.frame.Update)
}

// decodeDelta reads the fields that both deltas have: turn_id = 1 and one or two texts from 2 on.
func decodeDelta(data []byte, turnID *int64, second, third *string) bool {
	for len(data) > 0 {
		tag := data[0]
		data = data[1:]
		switch {
		case tag == tagTurnID:
			v, n := protowire.ConsumeVarint(data)
			if n < 0 {
				return false
			}
			*turnID = int64(v)
			data = data[n:]
		case tag == tagSecondText || tag == tagThirdText && third != nil:
			text, n := protowire.ConsumeBytes(data)
			if n < 0 || !utf8.Valid(text) {
				return false
			}
			if tag == tagSecondText {
				*second = view(text)
			} else {
				*third = view(text)
			}
			data = data[n:]
		default:
			return false
		}
	}
	return true
}

// view is the text in place. What DecodeBatch was given is never written to again.
func view(data []byte) string {
	return unsafe.String(unsafe.SliceData(data), len(data))
}
