// Command gen writes a HEP stream of so many frames: mostly message_delta lines of 98 bytes with their
// line feed, a tool call every 200 frames, a round every 1,000. The same count gives the same bytes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
)

const deltaText = 50

func main() {
	frames := flag.Int("frames", 1_000_000, "frames, the header among them")
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	fmt.Fprintln(out, `{"type":"hep_header","hep":"v1","fah":"1.0.626","session":"0199c2f0-7a11-7000-8000-000000000001"}`)
	fmt.Fprintln(out, `{"type":"agent_start","turn_id":1}`)
	words := "the build is green and all of the tests have passed on this branch so far "
	turn := 1
	for i := 2; i < *frames; i++ {
		switch {
		case i == *frames-1 || i%1_000 == 999:
			fmt.Fprintf(out, `{"type":"turn_done","turn_id":%d,"message":"done","tool_results":[{"id":"c%d","name":"bash","ok":true,"text":"ok"}],"usage":{"input":812,"output":46,"cost":0.0125},"stop_reason":"stop"}`+"\n", turn, turn)
			turn++
		case i%1_000 == 200:
			fmt.Fprintf(out, `{"type":"tool_start","turn_id":%d,"id":"c%d","name":"bash","args_summary":"command=\"npm test\""}`+"\n", turn, turn)
		case i%1_000 == 201:
			fmt.Fprintf(out, `{"type":"tool_delta","turn_id":%d,"id":"c%d","update":"12 passing"}`+"\n", turn, turn)
		default:
			at := i % (len(words) - deltaText)
			line := fmt.Sprintf(`{"type":"message_delta","turn_id":%d,"delta":"`, turn)
			text := words[at : at+deltaText-(len(line)-len(`{"type":"message_delta","turn_id":1,"delta":"`))]
			fmt.Fprintf(out, "%s%s\"}\n", line, text)
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
