// Command client reads one run from a bridge with the SDK and decodes every event. It prints, as JSON,
// how many there were, the last sequence, and the Unix times in milliseconds of the first (RunStarted, which
// is there before the source is read) and of the last (RunFinished).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"time"

	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

func main() {
	addr := flag.String("addr", "", "address of the bridge")
	runID := flag.String("run", "", "run id; it may not exist yet")
	flag.Parse()
	client, err := hepbridge.Dial(*addr)
	if err != nil {
		log.Fatal(err)
	}
	events, text, last, startMS := 0, 0, int64(0), int64(0)
	for event, err := range client.Run(*runID).Events(context.Background(), hepbridge.WaitForRun(time.Minute)) {
		if err != nil {
			log.Fatal(err)
		}
		if events == 0 {
			startMS = time.Now().UnixMilli()
		}
		events++
		last = event.GetSequence()
		text += len(event.GetMessageDelta().GetDelta())
	}
	result := map[string]any{"events": events, "last": last, "text": text, "start_ms": startMS, "end_ms": time.Now().UnixMilli()}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
