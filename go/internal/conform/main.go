// Command conform decodes lines for the differential test of the two codecs: each line of its input
// is a HEP line in base64, behind "^" if it is the first of its stream; each line of its output the
// event in hex, with sequence 7, behind "!" if the event does not give its line back.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hep-bridge/hep-bridge/go/hep"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			break
		}
		answer, err := convert(strings.TrimSuffix(text, "\n"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(out, answer)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func convert(text string) (string, error) {
	text, isFirst := strings.CutPrefix(text, "^")
	line, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	event := hep.DecodeLine(line)
	if isFirst {
		event = hep.DecodeFirstLine(line)
	}
	event.Sequence = 7
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(event)
	if err != nil {
		return "", err
	}
	mark := ""
	if back, err := hep.Line(event, hep.CanonicalForm); err != nil || !bytes.Equal(back, line) {
		mark = "!"
	}
	return mark + hex.EncodeToString(wire), nil
}
