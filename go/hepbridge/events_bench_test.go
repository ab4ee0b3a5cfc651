package hepbridge_test

import (
	"fmt"
	"testing"
	"time"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// BenchmarkEventsOf64 reads a run of 64,000 deltas in batches of 64 over gRPC on loopback. The
// server shares the process: allocations are its, too.
func BenchmarkEventsOf64(b *testing.B) {
	bridge, client := connect(b)
	l := &log{id: "r1"}
	batches := []*eventv1.EventBatch{l.batch(step, started())}
	for range 1000 {
		var deltas []*eventv1.Event
		for i := range 64 {
			deltas = append(deltas, text(fmt.Sprintf("%050d", i)))
		}
		batches = append(batches, l.batch(delta, deltas...))
	}
	bridge.Commit(append(batches, l.batch(step, finished(&eventv1.RunFinished{})))...)
	ctx := within(b, 5*time.Minute)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		for _, err := range client.Run("r1").Events(ctx) {
			if err != nil {
				b.Fatal(err)
			}
			events++
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
