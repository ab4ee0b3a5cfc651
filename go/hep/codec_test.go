package hep_test

import (
	"bytes"
	"errors"
	"os/exec"
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

func TestSourceWriterRefusesOversizeLine(t *testing.T) {
	writer := hep.NewSourceWriter(&bytes.Buffer{})
	oversize := &eventv1.Event{Payload: &eventv1.Event_OversizeLine{OversizeLine: &eventv1.OversizeLine{}}}
	if err := writer.Write(oversize, 1); !errors.Is(err, hep.ErrNoLine) {
		t.Errorf("%v, want ErrNoLine", err)
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

func TestFold(t *testing.T) {
	var fold hep.Fold
	for _, line := range []string{
		`{"type":"hep_header","hep":"v1","fah":"1","session":"s"}`,
		`{"type":"message_start","turn_id":1,"role":"assistant"}`,
		`{"type":"message_delta","turn_id":1,"delta":"given up"}`,
		`{"type":"message_start","turn_id":1,"role":"assistant"}`,
		`{"type":"message_delta","turn_id":1,"delta":"a"}`,
		`{"type":"message_delta","turn_id":1,"delta":"b"}`,
		`{"type":"tool_start","turn_id":1,"id":"c","name":"bash","args_summary":""}`,
		`{"type":"tool_delta","turn_id":1,"id":"c","update":"one"}`,
		`{"type":"tool_delta","turn_id":1,"id":"c","update":"one two"}`,
	} {
		fold.Apply(hep.DecodeLine([]byte(line)))
	}
	if fold.Session != "s" || fold.Turn != 1 || fold.Text != "ab" {
		t.Errorf("session %q, turn %d, text %q", fold.Session, fold.Turn, fold.Text)
	}
	if len(fold.Tools) != 1 || fold.Tools[0].Update != "one two" || fold.Tools[0].Name != "bash" {
		t.Errorf("tools %v", fold.Tools)
	}
	fold.Apply(hep.DecodeLine([]byte(`{"type":"turn_done","turn_id":1,"message":"ab","tool_results":[],"usage":{"input":1,"output":2,"cost":0.5},"stop_reason":"stop"}`)))
	if fold.Turn != 0 || fold.Text != "" || fold.Tools != nil || fold.LastTurn.GetMessage() != "ab" || fold.Input != 1 {
		t.Errorf("after the round: %+v", fold)
	}
}

func BenchmarkDecodeLine(b *testing.B) {
	line := []byte(`{"type":"message_delta","turn_id":1,"delta":"` + strings.Repeat("x", 52) + `"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		hep.DecodeLine(line)
	}
}

func BenchmarkCanonicalText(b *testing.B) {
	line := []byte(`{"type":"message_delta","turn_id":1,"delta":"` + strings.Repeat("x", 52) + `"}`)
	event := hep.DecodeLine(line)
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text, _ = hep.AppendCanonicalText(text[:0], event)
	}
}
