package hep

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// DecodeLine decodes one line, without its line feed, into the event that stands for it: payload,
// lossy_text, violations of the frame's own fields, and line where the canonical text of the frame
// does not give the bytes back. Sequence and time are the caller's. It takes any bytes: what is no
// frame becomes a MalformedLine. The event shares the line's memory.
//
// A blank line (see IsBlank) is a MalformedLine here too; a stream keeps it in the next event's
// blank_before, as long as that has room.
func DecodeLine(line []byte) *eventv1.Event { return decode(line, 0) }

// DecodeFirstLine is DecodeLine for the first line of a stream, where a byte order mark is skipped.
func DecodeFirstLine(line []byte) *eventv1.Event {
	if bytes.HasPrefix(line, byteOrderMark) {
		return decode(line, len(byteOrderMark))
	}
	return decode(line, 0)
}

// IsBlank reports whether a line holds only blanks, tabs and carriage returns, or nothing.
func IsBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func decode(line []byte, from int) *eventv1.Event {
	start := skipWhitespace(line, from)
	isObject := start < len(line) && line[start] == '{'
	var members []member
	var next int
	if isObject {
		members, next = scanObject(line, start)
	} else {
		next = skipValue(line, start)
	}
	if next >= 0 {
		next = skipWhitespace(line, next)
	}
	switch {
	case next < 0:
		return notJSON(line, ^next)
	case next < len(line):
		return notJSON(line, next)
	case !isObject:
		return notAFrame(line, "JSON "+jsonKind(line[start])+", not an object")
	}
	return decodeObject(line, members)
}

func decodeObject(line []byte, members []member) *eventv1.Event {
	value := findMember(members, "type")
	if value == nil {
		return notAFrame(line, "no key type")
	}
	if kind := jsonKind(value[0]); kind != "string" {
		return notAFrame(line, "type is "+withArticle(kind)+", not a string")
	}
	if len(value) == len(`""`) {
		return notAFrame(line, "type is empty")
	}
	var found report
	frame := &fields{members: members, report: &found}
	event := &eventv1.Event{}
	readFrame(event, found.text(value[1:len(value)-1]), frame)
	event.LossyText = found.lossyText
	event.Violations = found.finish()
	if found.lossyText || !isCanonical(line, event) {
		event.Line = line
	}
	return event
}

func isCanonical(line []byte, event *eventv1.Event) bool {
	text, err := AppendCanonicalText(make([]byte, 0, len(line)), event)
	return err == nil && bytes.Equal(text, line)
}

func notJSON(line []byte, offset int) *eventv1.Event {
	reason := eventv1.MalformedLine_REASON_NOT_JSON
	if !utf8.Valid(line) {
		reason = eventv1.MalformedLine_REASON_INVALID_UTF8
	}
	return malformed(line, reason, fmt.Sprintf("not JSON at byte %d", offset))
}

func notAFrame(line []byte, detail string) *eventv1.Event {
	return malformed(line, eventv1.MalformedLine_REASON_NOT_A_FRAME, detail)
}

func malformed(line []byte, reason eventv1.MalformedLine_Reason, detail string) *eventv1.Event {
	return &eventv1.Event{
		Line: line,
		Payload: &eventv1.Event_MalformedLine{
			MalformedLine: &eventv1.MalformedLine{Reason: reason, Detail: detail},
		},
	}
}

func withArticle(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}
