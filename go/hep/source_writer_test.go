package hep_test

import (
	"bytes"
	"errors"
	"testing"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

func finished(blankBefore string, end *eventv1.RunFinished) *eventv1.Event {
	return &eventv1.Event{BlankBefore: []byte(blankBefore), Payload: &eventv1.Event_RunFinished{RunFinished: end}}
}

func TestSourceWriterKeepsHowTheSourceEnded(t *testing.T) {
	line := hep.DecodeLine([]byte("noise"))
	line.BlankBefore = []byte("\n \r\n")
	stderr := &eventv1.Event{Payload: &eventv1.Event_StderrChunk{StderrChunk: &eventv1.StderrChunk{Data: []byte("x")}}}
	for name, test := range map[string]struct {
		end  *eventv1.Event
		want string
	}{
		"line feed":                  {finished("", &eventv1.RunFinished{}), "\n \r\nnoise\n"},
		"no line feed":               {finished("", &eventv1.RunFinished{UnterminatedTail: true}), "\n \r\nnoise"},
		"blank lines":                {finished("\n\t\n", &eventv1.RunFinished{}), "\n \r\nnoise\n\n\t\n"},
		"blanks without a line feed": {finished("\n\t", &eventv1.RunFinished{UnterminatedTail: true}), "\n \r\nnoise\n\n\t"},
	} {
		t.Run(name, func(t *testing.T) {
			var rebuilt bytes.Buffer
			writer := hep.NewSourceWriter(&rebuilt)
			for _, event := range []*eventv1.Event{{Payload: &eventv1.Event_RunStarted{}}, line, stderr, test.end} {
				if err := writer.Write(event, hep.CanonicalForm); err != nil {
					t.Fatal(err)
				}
			}
			if rebuilt.String() != test.want {
				t.Errorf("%q, want %q", rebuilt.String(), test.want)
			}
		})
	}
}

func TestSourceWriterSaysThatTheSourceIsIncomplete(t *testing.T) {
	for name, event := range map[string]*eventv1.Event{
		"line over the limit": {Payload: &eventv1.Event_OversizeLine{OversizeLine: &eventv1.OversizeLine{LineBytes: 20 << 20}}},
		"history is gone":     {Payload: &eventv1.Event_HistoryExpired{HistoryExpired: &eventv1.HistoryExpired{LastSequence: 9}}},
		"refused":             finished("", &eventv1.RunFinished{Outcome: eventv1.Outcome_OUTCOME_REFUSED}),
	} {
		writer := hep.NewSourceWriter(&bytes.Buffer{})
		if err := writer.Write(event, hep.CanonicalForm); !errors.Is(err, hep.ErrIncomplete) {
			t.Errorf("%s: %v, want ErrIncomplete", name, err)
		}
		if err := writer.Close(); !errors.Is(err, hep.ErrIncomplete) {
			t.Errorf("%s: Close gave %v, want ErrIncomplete", name, err)
		}
	}
}
