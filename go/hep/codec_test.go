package hep_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

// TestImports: who imports the codec links neither gRPC nor NATS.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "grpc") || strings.Contains(path, "nats") {
			t.Errorf("go/hep depends on %s", path)
		}
	}
}

func TestLongExponents(t *testing.T) {
	cost := "0." + strings.Repeat("0", 150_000) + "5e150001"
	line := `{"type":"turn_done","turn_id":1,"message":"","tool_results":[],"usage":{"input":1,"output":2,"cost":` +
		cost + `},"stop_reason":"stop"}`
	if got := hep.DecodeLine([]byte(line)).GetTurnDone().GetUsage().GetCost(); got != 5 {
		t.Errorf("cost %v, want 5", got)
	}
	line = `{"type":"cancelled","turn_id":1` + strings.Repeat("0", 100_000) + `e-100000}`
	if got := hep.DecodeLine([]byte(line)).GetCancelled().GetTurnId(); got != 1 {
		t.Errorf("turn_id %v, want 1", got)
	}
}

func TestDeepNesting(t *testing.T) {
	const depth = 1_000_000
	line := `{"type":"x","a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	if kind := hep.DecodeLine([]byte(line)).GetUnknownFrame().GetType(); kind != "x" {
		t.Errorf("type %q, want x", kind)
	}
}

func TestLineNeverGuesses(t *testing.T) {
	delta := &eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{Delta: "x"}}}
	newer := &framev1.MessageDelta{Delta: "x"}
	newer.ProtoReflect().SetUnknown([]byte{0xF8, 0x07, 0x01})
	tests := []struct {
		name  string
		event *eventv1.Event
		form  int32
		want  error
	}{
		{"unknown form", delta, 2, hep.ErrUnknownForm},
		{"unknown fields", &eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: newer}}, 1, hep.ErrUnknownFields},
		{"unknown payload", &eventv1.Event{}, 1, hep.ErrUnknownFields},
		{"unknown type without line", &eventv1.Event{Payload: &eventv1.Event_UnknownFrame{}}, 1, hep.ErrLineMissing},
		{"made by the bridge", &eventv1.Event{Payload: &eventv1.Event_RunStarted{}}, 1, hep.ErrNoLine},
		{"line over the limit", &eventv1.Event{Payload: &eventv1.Event_OversizeLine{}}, 1, hep.ErrNoLine},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if line, err := hep.Line(test.event, test.form); !errors.Is(err, test.want) {
				t.Errorf("%q, %v, want %v", line, err, test.want)
			}
		})
	}
}

func TestCheckHeader(t *testing.T) {
	const ok = eventv1.OutcomeReason_OUTCOME_REASON_UNSPECIFIED
	const unsupported = eventv1.OutcomeReason_OUTCOME_REASON_HEADER_UNSUPPORTED
	for hepValue, want := range map[string]eventv1.OutcomeReason{
		`"v1"`: ok, `"v1.0"`: ok, `"v1.27"`: ok, `"v2"`: unsupported, `"v10"`: unsupported, `"v1."`: unsupported,
		`"v1.x"`: unsupported, `1`: unsupported, `""`: unsupported, `"V1"`: unsupported,
	} {
		event := hep.DecodeLine([]byte(`{"type":"hep_header","hep":` + hepValue + `,"fah":"1","session":"s"}`))
		if got := hep.CheckHeader(event); got != want {
			t.Errorf("hep %s: %v, want %v", hepValue, got, want)
		}
	}
	missing := hep.CheckHeader(hep.DecodeLine([]byte(`{"type":"agent_start","turn_id":1}`)))
	if missing != eventv1.OutcomeReason_OUTCOME_REASON_HEADER_MISSING {
		t.Errorf("no header: %v", missing)
	}
}

func TestCanonicalTextOfAFrameWithoutMessageIsThatOfAnEmptyOne(t *testing.T) {
	for want, event := range map[string]*eventv1.Event{
		`{"type":"message_delta","turn_id":0,"delta":""}`:                                  {Payload: &eventv1.Event_MessageDelta{}},
		`{"type":"tool_liveness","turn_id":0,"id":"","name":"","action":""}`:               {Payload: &eventv1.Event_ToolLiveness{}},
		`{"type":"turn_done","turn_id":0,"message":"","tool_results":[],"stop_reason":""}`: {Payload: &eventv1.Event_TurnDone{}},
		`{"type":"compaction_end","turn_id":0}`:                                            {Payload: &eventv1.Event_CompactionEnd{}},
	} {
		if line, err := hep.Line(event, hep.CanonicalForm); string(line) != want || err != nil {
			t.Errorf("%s, %v, want %s", line, err, want)
		}
	}
}

func TestAnEmptyLineIsALine(t *testing.T) {
	event := &eventv1.Event{Payload: &eventv1.Event_MalformedLine{}}
	if line, err := hep.Line(event, hep.CanonicalForm); line == nil || len(line) != 0 || err != nil {
		t.Errorf("%v, %v, want an empty line", line, err)
	}
}

func TestUnknownKeysAreNotKept(t *testing.T) {
	text := []byte(`{"type":"cancelled","turn_id":1`)
	for i := range 100_000 {
		text = append(strconv.AppendInt(append(text, `,"k`...), int64(i), 10), `":0`...)
	}
	text = append(text, '}')
	if allocs := testing.AllocsPerRun(1, func() { hep.DecodeLine(text) }); allocs > 50 {
		t.Errorf("%v allocations", allocs)
	}
}

func benchmarkLines() map[string][]byte {
	return map[string][]byte{
		"delta":    []byte(`{"type":"message_delta","turn_id":1,"delta":"` + strings.Repeat("x", 52) + `"}`),
		"escapes":  []byte(`{"type":"message_delta","turn_id":1,"delta":"` + strings.Repeat(`a\n\"é`, 10) + `"}`),
		"turnDone": []byte(`{"type":"turn_done","turn_id":1,"message":"` + strings.Repeat("x", 500) + `","tool_results":[{"id":"call_7","name":"bash","ok":true,"text":"` + strings.Repeat("y", 2000) + `"}],"usage":{"input":812,"output":46,"cost":0.0125},"stop_reason":"toolUse"}`),
		"noise":    []byte(`npm warn deprecated inflight@1.0.6: this module is not supported`),
	}
}

func BenchmarkDecodeLine(b *testing.B) {
	for name, line := range benchmarkLines() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				hep.DecodeLine(line)
			}
		})
	}
}

func BenchmarkAppendCanonicalText(b *testing.B) {
	for name, line := range benchmarkLines() {
		event := hep.DecodeLine(line)
		text, err := hep.CanonicalText(event)
		if err != nil {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				text, _ = hep.AppendCanonicalText(text[:0], event)
			}
		})
	}
}
