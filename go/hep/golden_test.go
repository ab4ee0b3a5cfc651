package hep_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

// golden is the folder of vectors that the gateway's own codec is tested with too.
const golden = "../../test/golden"

// vectorSequence is the sequence of the events in the vectors.
const vectorSequence = 7

type frameVector struct {
	Name          string          `json:"name"`
	Line          string          `json:"line_base64"`
	AtStreamStart bool            `json:"at_stream_start"`
	Canonical     bool            `json:"canonical"`
	Event         json.RawMessage `json:"event_json"`
	Hex           string          `json:"event_hex"`
}

func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func frameVectors(t testing.TB) []frameVector {
	t.Helper()
	var vectors []frameVector
	readGolden(t, "frames.json", &vectors)
	if len(vectors) < 100 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	return vectors
}

func (v frameVector) line(t testing.TB) []byte {
	t.Helper()
	line, err := base64.StdEncoding.DecodeString(v.Line)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (v frameVector) decode(t testing.TB) *eventv1.Event {
	t.Helper()
	event := hep.DecodeLine(v.line(t))
	if v.AtStreamStart {
		event = hep.DecodeFirstLine(v.line(t))
	}
	event.Sequence = vectorSequence
	return event
}

func TestFrameVectors(t *testing.T) {
	for _, vector := range frameVectors(t) {
		t.Run(vector.Name, func(t *testing.T) {
			got := vector.decode(t)
			want := &eventv1.Event{}
			if err := protojson.Unmarshal(vector.Event, want); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("decoded\n%v\nwant\n%v", got, want)
			}
			wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if text := hex.EncodeToString(wire); text != vector.Hex {
				t.Errorf("bytes\n%s\nwant\n%s", text, vector.Hex)
			}
			if canonical := len(got.GetLine()) == 0; canonical != vector.Canonical {
				t.Errorf("canonical %v, want %v", canonical, vector.Canonical)
			}
			stored := &eventv1.Event{}
			if err := proto.Unmarshal(wire, stored); err != nil {
				t.Fatal(err)
			}
			line, err := hep.Line(stored, hep.CanonicalForm)
			if err != nil || !bytes.Equal(line, vector.line(t)) {
				t.Errorf("line %q (%v), want %q", line, err, vector.line(t))
			}
		})
	}
}

func TestOrderVectors(t *testing.T) {
	var vectors []struct {
		Name       string            `json:"name"`
		Lines      []string          `json:"lines"`
		Violations []json.RawMessage `json:"violations"`
	}
	readGolden(t, "order.json", &vectors)
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			var rules hep.OrderRules
			for i, line := range vector.Lines {
				got := rules.Check(hep.DecodeLine([]byte(line)))
				if string(vector.Violations[i]) == "null" {
					if got != nil {
						t.Errorf("line %d: %v, want none", i, got)
					}
					continue
				}
				want := &eventv1.ProtocolViolation{}
				if err := protojson.Unmarshal(vector.Violations[i], want); err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(got, want) {
					t.Errorf("line %d: %v, want %v", i, got, want)
				}
			}
		})
	}
}

// streams returns the golden streams, and the cases of the field where they are at hand.
func streams(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(golden, "streams", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden streams: %v", err)
	}
	more, _ := filepath.Glob("../../../shared/cases/*.jsonl")
	return append(files, more...)
}

// TestStreamsComeBackByteForByte takes each stream apart as the gateway does and rebuilds it.
func TestStreamsComeBackByteForByte(t *testing.T) {
	for _, file := range streams(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rebuilt bytes.Buffer
			writer := hep.NewSourceWriter(&rebuilt)
			for _, event := range takeApart(source) {
				wire, err := proto.Marshal(event)
				if err != nil {
					t.Fatal(err)
				}
				stored := &eventv1.Event{}
				if err := proto.Unmarshal(wire, stored); err != nil {
					t.Fatal(err)
				}
				if err := writer.Write(stored, hep.CanonicalForm); err != nil {
					t.Fatal(err)
				}
			}
			if err := writer.Close(); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(rebuilt.Bytes(), source) {
				t.Errorf("rebuilt\n%q\nwant\n%q", rebuilt.Bytes(), source)
			}
		})
	}
}

func takeApart(source []byte) []*eventv1.Event {
	var events []*eventv1.Event
	var blank []byte
	rest := source
	unterminated := len(source) > 0 && source[len(source)-1] != '\n'
	for first := true; len(rest) > 0; first = false {
		line, after, hasLineFeed := bytes.Cut(rest, []byte{'\n'})
		if hep.IsBlank(line) {
			blank = append(blank, rest[:len(rest)-len(after)]...)
			rest = after
			continue
		}
		event := hep.DecodeLine(line)
		if first {
			event = hep.DecodeFirstLine(line)
		}
		event.BlankBefore, blank = blank, nil
		events = append(events, event)
		rest = after
		if !hasLineFeed {
			break
		}
	}
	return append(events, &eventv1.Event{
		BlankBefore: blank,
		Payload: &eventv1.Event_RunFinished{
			RunFinished: &eventv1.RunFinished{UnterminatedTail: unterminated},
		},
	})
}
