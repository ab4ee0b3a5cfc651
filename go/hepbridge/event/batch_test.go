package event_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge/event"
)

func messageDelta(turn int64, text string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{TurnId: turn, Delta: text}}}
}

func toolDelta(turn int64, id, update string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_ToolDelta{ToolDelta: &framev1.ToolDelta{TurnId: turn, Id: id, Update: update}}}
}

func batchOf(events ...*eventv1.Event) *eventv1.EventBatch {
	for i, e := range events {
		e.Sequence, e.ObserveOffsetUs = int64(i+5), int64(i*250)
	}
	return &eventv1.EventBatch{
		RunId: "0199c2f0-7a11-7000-8000-000000000001", ObserveTime: timestamppb.New(time.Unix(1_790_000_000, 7)),
		Class: eventv1.EventClass_EVENT_CLASS_STEP, PreviousSequence: 4, PreviousStepSequence: 2,
		StdoutOffset: 99, StderrOffset: 3, CanonicalForm: 1, Events: events,
	}
}

func encoded(t testing.TB, message proto.Message) []byte {
	t.Helper()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kinds has an event of every way through the decoder.
func kinds() []*eventv1.Event {
	withLine, lossy, violated, blanks := messageDelta(1, "a"), messageDelta(1, "b"), messageDelta(1, "c"), messageDelta(1, "d")
	withLine.Line = []byte(`{"type":"message_delta", "turn_id":1,"delta":"a"}`)
	lossy.LossyText = true
	violated.Violations = []*eventv1.ProtocolViolation{{Field: "turn_id", Detail: "x"}}
	blanks.BlankBefore = []byte("\n\n")
	newer := messageDelta(1, "e")
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	newerFrame := messageDelta(1, "f")
	newerFrame.GetMessageDelta().ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), "x"))
	return []*eventv1.Event{
		messageDelta(1, "hi"), messageDelta(0, ""), messageDelta(math.MaxInt64, "é\u2028😀"), messageDelta(-1, strings.Repeat("x", 300)),
		toolDelta(1, "call_7", "12 passing"), toolDelta(0, "", ""),
		withLine, lossy, violated, blanks, newer, newerFrame,
		{Payload: &eventv1.Event_TurnDone{TurnDone: &framev1.TurnDone{TurnId: 1, Message: "m", ToolResults: []*framev1.ToolResult{{Id: "x"}}}}},
		{Payload: &eventv1.Event_RunFinished{RunFinished: &eventv1.RunFinished{Outcome: eventv1.Outcome_OUTCOME_LOST}}},
		{Payload: &eventv1.Event_StderrChunk{StderrChunk: &eventv1.StderrChunk{Data: []byte{0xff}}}},
		{},
	}
}

func TestDecodingInPlaceGivesWhatProtobufGives(t *testing.T) {
	want := batchOf(kinds()...)
	body := encoded(t, want)
	got, err := event.DecodeBatch(body)
	if err != nil {
		t.Fatal(err)
	}
	if got.RunID != want.RunId || got.Class != want.Class || got.PreviousSequence != 4 || got.PreviousStepSequence != 2 ||
		got.CanonicalForm != 1 || !got.ObserveTime.Equal(want.ObserveTime.AsTime()) || len(got.Events) != len(want.Events) {
		t.Errorf("head is %+v", got)
	}
	for i, e := range got.Events {
		if !proto.Equal(e.Event, want.Events[i]) {
			t.Errorf("event %d is %v, not %v", i, e.Event, want.Events[i])
		}
		if e.RunID != want.RunId || !e.Time.Equal(want.ObserveTime.AsTime().Add(time.Duration(i)*250*time.Microsecond)) {
			t.Errorf("event %d is of %s at %v", i, e.RunID, e.Time)
		}
	}
}

func TestAnEventGivesItsLine(t *testing.T) {
	batch, err := event.DecodeBatch(encoded(t, batchOf(messageDelta(1, "a\u2028"), kinds()[6], kinds()[13])))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`{"type":"message_delta","turn_id":1,"delta":"a` + "\u2028" + `"}`, `{"type":"message_delta", "turn_id":1,"delta":"a"}`} {
		if line, err := batch.Events[i].Line(); string(line) != want || err != nil {
			t.Errorf("line is %s, %v", line, err)
		}
	}
	if line, err := batch.Events[2].Line(); err == nil {
		t.Errorf("RunFinished has the line %s", line)
	}
	batch.Events[0].CanonicalForm = 2
	if line, err := batch.Events[0].Line(); err == nil {
		t.Errorf("an unknown canonical form gave %s", line)
	}
}

func TestTextThatIsNotUTF8IsRefusedAsProtobufDoes(t *testing.T) {
	good := encoded(t, batchOf(messageDelta(1, "abc")))
	body := []byte(strings.Replace(string(good), "abc", "a\xffc", 1))
	if _, err := event.DecodeBatch(body); err == nil {
		t.Error("accepted")
	}
}

func TestABatchCutAnywhereIsAnErrorOrAShorterBatch(t *testing.T) {
	want := batchOf(kinds()...)
	body := encoded(t, want)
	for n := range body {
		var reference eventv1.EventBatch
		expected := proto.Unmarshal(body[:n], &reference)
		got, err := event.DecodeBatch(body[:n:n])
		if (err == nil) != (expected == nil) {
			t.Fatalf("cut at %d: %v, protobuf says %v", n, err, expected)
		}
		if err == nil && len(got.Events) != len(reference.Events) {
			t.Fatalf("cut at %d: %d events", n, len(got.Events))
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add(encoded(f, batchOf(kinds()...)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		var want eventv1.EventBatch
		expected := proto.Unmarshal(body, &want)
		got, err := event.DecodeBatch(body)
		if expected != nil || err != nil {
			// Which of two mistakes is found, and whether one in the head counts, may differ.
			return
		}
		if len(got.Events) != len(want.Events) {
			t.Fatalf("%d events, not %d", len(got.Events), len(want.Events))
		}
		for i, e := range got.Events {
			if !proto.Equal(e.Event, want.Events[i]) {
				t.Fatalf("event %d is %v, not %v", i, e.Event, want.Events[i])
			}
		}
	})
}

func TestPartsMakeTheEventTheyWereCutFrom(t *testing.T) {
	want := messageDelta(1, strings.Repeat("x", 1000))
	want.Sequence = 7
	whole := encoded(t, want)
	part := func(index, count int32, data []byte) *eventv1.EventPart {
		return &eventv1.EventPart{Sequence: 7, Index: index, Count: count, EventBytes: int64(len(whole)), Data: data}
	}
	var parts event.Assembler
	// An attempt that broke off is forgotten by part 0.
	for _, p := range []*eventv1.EventPart{part(0, 3, whole[:400]), part(0, 2, whole[:600])} {
		if data, err := parts.Add(p); data != nil || err != nil {
			t.Fatal(data, err)
		}
	}
	data, err := parts.Add(part(1, 2, whole[600:]))
	if err != nil || string(data) != string(whole) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	batch, err := event.DecodeAssembled(&event.Batch{RunID: "r"}, data)
	if err != nil || !proto.Equal(batch.Events[0].Event, want) || batch.Events[0].RunID != "r" {
		t.Errorf("got %v, %v", batch, err)
	}
	for name, bad := range map[string][]*eventv1.EventPart{
		"a part is missing":  {part(0, 3, whole[:1]), part(2, 3, whole[2:])},
		"the start is":       {part(1, 2, whole[1:])},
		"more than was said": {part(0, 2, whole), part(1, 2, whole)},
		"less than was said": {part(0, 1, whole[:5])},
	} {
		var parts event.Assembler
		var err error
		for _, p := range bad {
			if _, err = parts.Add(p); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// deltas is a batch as a busy run commits it.
func deltas(t testing.TB) []byte {
	var events []*eventv1.Event
	for i := range 64 {
		events = append(events, messageDelta(1, fmt.Sprintf("%050d", i)))
	}
	return encoded(t, batchOf(events...))
}

func BenchmarkDecodeBatchOf64Deltas(b *testing.B) {
	body := deltas(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	events := 0
	for b.Loop() {
		batch, err := event.DecodeBatch(body)
		if err != nil {
			b.Fatal(err)
		}
		events += len(batch.Events)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkProtobufBatchOf64Deltas(b *testing.B) {
	body := deltas(b)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		var batch eventv1.EventBatch
		if err := proto.Unmarshal(body, &batch); err != nil {
			b.Fatal(err)
		}
		events += len(batch.Events)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
