package hep_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

// FuzzDecodeLine: any bytes become an event that gives them back, a line is taken for JSON exactly if
// encoding/json takes it, and the canonical text of what was read is read as the same frame.
func FuzzDecodeLine(f *testing.F) {
	for _, vector := range frameVectors(f) {
		f.Add(vector.line(f))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		checkEvent(t, hep.DecodeFirstLine(line), line)
		event := hep.DecodeLine(line)
		checkEvent(t, event, line)
		reason := event.GetMalformedLine().GetReason()
		isJSON := reason != eventv1.MalformedLine_REASON_NOT_JSON &&
			reason != eventv1.MalformedLine_REASON_INVALID_UTF8
		// encoding/json bounds the depth of nesting; this package does not.
		if utf8.Valid(line) && len(line) < 10_000 && isJSON != json.Valid(line) {
			t.Errorf("%q: JSON %v, but encoding/json says %v", line, isJSON, json.Valid(line))
		}
	})
}

func checkEvent(t *testing.T, event *eventv1.Event, line []byte) {
	t.Helper()
	if _, err := proto.Marshal(event); err != nil { // text that is no UTF-8
		t.Errorf("%q: %v", line, err)
	}
	if got, err := hep.Line(event, hep.CanonicalForm); err != nil || !bytes.Equal(got, line) {
		t.Errorf("line %q (%v), want %q", got, err, line)
	}
	text, err := hep.CanonicalText(event)
	if err != nil {
		return
	}
	frame := hep.DecodeLine(text)
	if len(frame.GetLine()) != 0 || frame.GetLossyText() {
		t.Errorf("%q is not canonical to its decoder", text)
	}
	want := &eventv1.Event{Payload: event.GetPayload(), Violations: frame.GetViolations()}
	if !proto.Equal(frame, want) {
		t.Errorf("%q is read as %v, want %v", text, frame, want)
	}
}

// FuzzCanonicalText: the canonical text of any frame decodes to that frame and needs no line.
func FuzzCanonicalText(f *testing.F) {
	f.Add(int64(1), "hi", "c1", true, 0.5)
	f.Add(int64(-1), "\u2028\x00\x1f\"\\/", "\U0001F600", false, 1e21)
	f.Add(int64(9007199254740993), "", "\x7f\u0085", true, 5e-324)
	f.Fuzz(func(t *testing.T, turn int64, text, id string, ok bool, cost float64) {
		if !utf8.ValidString(text) || !utf8.ValidString(id) {
			return
		}
		result := &framev1.ToolResult{Id: id, Name: text, Ok: ok, Text: text}
		usage := &framev1.Usage{Input: &turn, Cost: &cost}
		done := &framev1.TurnDone{
			TurnId: turn, Message: text, ToolResults: []*framev1.ToolResult{result}, Usage: usage, StopReason: id,
		}
		event := &eventv1.Event{Payload: &eventv1.Event_TurnDone{TurnDone: done}}
		line, err := hep.CanonicalText(event)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("canonical text is no JSON: %q", line)
		}
		decoded := hep.DecodeLine(line)
		if len(decoded.GetLine()) != 0 {
			t.Errorf("%q is not canonical to its decoder", line)
		}
		if got := decoded.GetTurnDone(); got.GetMessage() != text || got.GetUsage().GetCost() != cost {
			t.Errorf("%v, want %v", got, done)
		}
	})
}
