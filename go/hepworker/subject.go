package hepworker

import (
	"fmt"
	"strconv"
	"strings"
)

// Of the log: the stream, the prefix of its subjects, its number of partitions.
const (
	streamName = "HEP"
	prefix     = "hep.event.v1"
	partitions = 64
)

// token escapes text for one token of a subject, as the bridge does: all but A-Z a-z 0-9 _ - is
// "=HH" of its UTF-8 bytes.
func token(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		switch {
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '_', b == '-':
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "=%02X", b)
		}
	}
	return out.String()
}

// filters are the subjects that a slice reads: its share of the partitions, in each class asked for.
func (c Config) filters(slice int) []string {
	classes := []string{"step"}
	if c.IncludeDeltas {
		classes = append(classes, "delta")
	}
	if c.IncludeStderr {
		classes = append(classes, "stderr")
	}
	var all []string
	for partition := slice * partitions / c.Slices; partition < (slice+1)*partitions/c.Slices; partition++ {
		for _, class := range classes {
			all = append(all, fmt.Sprintf("%s.%s.%d.*.%s", prefix, token(c.Tenant), partition, class))
		}
	}
	return all
}

// addressOf reads run and partition out of a subject. A run id, a UUID, is its own token.
func addressOf(subject string) (runID string, partition int) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 7 {
		return "", -1
	}
	partition, err := strconv.Atoi(tokens[4])
	if err != nil {
		return tokens[5], -1
	}
	return tokens[5], partition
}
