// Command client reads one run from a bridge with the SDK and decodes every event. It prints, as JSON,
// how many there were, the last sequence, the Unix times in milliseconds of the first (RunStarted, which
// is there before the source is read) and of the last (RunFinished), and its own CPU and memory.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"time"

	"github.com/hep-bridge/hep-bridge/bench/go/usage"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

type result struct {
	Events  int   `json:"events"`
	Last    int64 `json:"last"`
	Text    int   `json:"text"`
	StartMS int64 `json:"start_ms"`
	EndMS   int64 `json:"end_ms"`
	usage.Usage
}

func main() {
	addr := flag.String("addr", "", "address of the bridge")
	runID := flag.String("run", "", "run id; it may not exist yet")
	flag.Parse()
	client, err := hepbridge.Dial(*addr)
	if err != nil {
		log.Fatal(err)
	}
	var got result
	for event, err := range client.Run(*runID).Events(context.Background(), hepbridge.WaitForRun(time.Minute)) {
		if err != nil {
			log.Fatal(err)
		}
		if got.Events == 0 {
			got.StartMS = time.Now().UnixMilli()
		}
		got.Events++
		got.Last = event.GetSequence()
		got.Text += len(event.GetMessageDelta().GetDelta())
	}
	got.EndMS = time.Now().UnixMilli()
	if got.Usage, err = usage.Self(); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		log.Fatal(err)
	}
}
