package event

import (
	"fmt"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// maxEventBytes bounds what an assembler collects; the bridge's lines end at 16 MiB by default, and
// an event may hold its line and its text.
const maxEventBytes = 256 << 20

// Assembler puts the parts of one run's big events together. The zero value is ready.
type Assembler struct {
	sequence int64
	next     int32
	data     []byte
}

// Add takes the next part and returns the serialized Event with its last one, else nil. Part 0
// forgets what was collected before. Fails if a part is missing or the sizes do not agree.
func (a *Assembler) Add(part *eventv1.EventPart) ([]byte, error) {
	if part.Index == 0 {
		*a = Assembler{sequence: part.Sequence}
	}
	if part.Sequence != a.sequence || part.Index != a.next {
		err := fmt.Errorf("part %d of event %d does not follow part %d of event %d", part.Index, part.Sequence, a.next-1, a.sequence)
		*a = Assembler{}
		return nil, err
	}
	if int64(len(a.data)+len(part.Data)) > min(part.EventBytes, maxEventBytes) {
		*a = Assembler{}
		return nil, fmt.Errorf("event %d is larger than %d bytes", part.Sequence, min(part.EventBytes, maxEventBytes))
	}
	a.data = append(a.data, part.Data...)
	a.next++
	if a.next < part.Count {
		return nil, nil
	}
	whole := a.data
	*a = Assembler{}
	if int64(len(whole)) != part.EventBytes {
		return nil, fmt.Errorf("event %d has %d bytes in its parts, not %d", part.Sequence, len(whole), part.EventBytes)
	}
	return whole, nil
}
