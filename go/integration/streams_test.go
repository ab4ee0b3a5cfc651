package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

// TestStreamsComeBackByteForByte brings every golden stream in through Pipe, through the gateway's
// codec and the log, and rebuilds it in Go.
func TestStreamsComeBackByteForByte(t *testing.T) {
	refused := map[string]bool{"16a": true, "16b": true, "16g": true}
	for _, file := range golden(t, "streams/*.jsonl") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ctx, client := dial(t, shared)
			run, err := client.Pipe(ctx, exec.Command("cat", file), hepbridge.PipeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := run.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if isRefused := result.Outcome == eventv1.Outcome_OUTCOME_REFUSED; isRefused != refused[baseName(file)] {
				t.Fatalf("outcome %v", result.Outcome)
			}
			if refused[baseName(file)] {
				return
			}
			var rebuilt bytes.Buffer
			writer := hep.NewSourceWriter(&rebuilt)
			for event, err := range run.Events(ctx, hepbridge.IncludeStderr()) {
				if err != nil {
					t.Fatal(err)
				}
				if err := writer.Write(event.Event, event.CanonicalForm); err != nil {
					t.Fatal(err)
				}
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rebuilt.Bytes(), source) {
				t.Errorf("rebuilt\n%q\nwant\n%q", rebuilt.Bytes(), source)
			}
		})
	}
}

// TestBigLines: an event over the message limit travels as parts, one over the line limit is replaced.
func TestBigLines(t *testing.T) {
	ctx, client := dial(t, shared)
	script := `printf '{"type":"hep_header","hep":"v1","fah":"1","session":"s"}\n'
for size in 600000 5000000 17000000; do
printf '{"type":"message_delta","turn_id":1,"delta":"'; head -c $size /dev/zero | tr '\0' x; printf '"}\n'
done`
	run, err := client.Pipe(ctx, exec.Command("sh", "-c", script), hepbridge.PipeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int
	oversize := 0
	for event, err := range run.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if delta := event.GetMessageDelta(); delta != nil {
			lengths = append(lengths, len(delta.GetDelta()))
		}
		if event.GetOversizeLine() != nil {
			oversize++
		}
	}
	if len(lengths) != 2 || lengths[0] != 600_000 || lengths[1] != 5_000_000 || oversize != 1 {
		t.Errorf("deltas of %v, %d lines over the limit", lengths, oversize)
	}
}
