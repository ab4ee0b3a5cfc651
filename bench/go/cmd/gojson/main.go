// Command gojson reads a HEP file with encoding/json alone into typed frames: the type first, then the
// type's own struct; with -one-struct all types into one struct at once.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/hep-bridge/hep-bridge/bench/go/frame"
	"github.com/hep-bridge/hep-bridge/bench/go/usage"
)

func main() {
	one := flag.Bool("one-struct", false, "decode once, into one struct for all types")
	flag.Parse()
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	lines := bufio.NewScanner(bufio.NewReaderSize(file, 1<<20))
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	events, text := 0, 0
	for lines.Scan() {
		var decoded any
		var err error
		if *one {
			var all frame.Any
			err = json.Unmarshal(lines.Bytes(), &all)
			decoded = &all
		} else {
			decoded, err = frame.Decode(lines.Bytes())
		}
		if err != nil {
			log.Fatal(err)
		}
		events++
		switch decoded := decoded.(type) {
		case *frame.MessageDelta:
			text += len(decoded.Delta)
		case *frame.Any:
			text += len(decoded.Delta)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	seconds := time.Since(start).Seconds()
	used, err := usage.Self()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"events\":%d,\"text\":%d,\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"rss_bytes\":%d}\n",
		events, text, seconds, used.CPUSeconds, used.RSSBytes)
}
