package hep

import (
	"fmt"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// maxViolations bounds the violations of one line; the last one says how many more there were.
const maxViolations = 16

// shownNumberBytes bounds a number in a violation's text.
const shownNumberBytes = 40

// report is what reading one line finds out besides its values.
type report struct {
	lossyText  bool
	violations []*eventv1.ProtocolViolation
	dropped    int
}

func (r *report) add(rule eventv1.ProtocolViolation_Rule, field, detail string) {
	if len(r.violations) == maxViolations {
		r.dropped++
		return
	}
	violation := &eventv1.ProtocolViolation{Rule: rule, Field: field, Detail: detail}
	r.violations = append(r.violations, violation)
}

func (r *report) wrongType(field, expected, got string) {
	r.add(eventv1.ProtocolViolation_RULE_WRONG_TYPE, field, "expected "+expected+", got "+got)
}

// finish returns the violations of the line.
func (r *report) finish() []*eventv1.ProtocolViolation {
	if r.dropped > 0 {
		last := r.violations[maxViolations-1]
		last.Detail += fmt.Sprintf(" (+%d more)", r.dropped)
	}
	return r.violations
}

func (r *report) text(inside []byte) string {
	text, lossy := decodeString(inside)
	r.lossyText = r.lossyText || lossy
	return text
}

// member is a key of the catalogue with its value as it stands in the line.
type member struct {
	key   string
	value []byte
}

// fields is one object of a frame, scanned.
type fields struct {
	members []member // of the catalogue's keys only
	prefix  string   // before a key in a violation's path, e.g. "usage."
	report  *report
}

// scanObject reads the object at at; of duplicate keys the last wins. next is as skipValue returns it.
func scanObject(b []byte, at int) (members []member, next int) {
	members = make([]member, 0, 8)
	key := skipWhitespace(b, at+1)
	if key < len(b) && b[key] == '}' {
		return members, key + 1
	}
	for {
		value := skipKey(b, key)
		if value < 0 {
			return nil, value
		}
		after := skipValue(b, value)
		if after < 0 {
			return nil, after
		}
		if name := knownKey(b[key+1 : skipString(b, key)-1]); name != "" {
			members = setMember(members, name, b[value:after])
		}
		next = skipWhitespace(b, after)
		if next < len(b) && b[next] == '}' {
			return members, next + 1
		}
		if next >= len(b) || b[next] != ',' {
			return nil, ^next
		}
		key = skipWhitespace(b, next+1)
	}
}

func setMember(members []member, key string, value []byte) []member {
	for i := range members {
		if members[i].key == key {
			members[i].value = value
			return members
		}
	}
	return append(members, member{key, value})
}

func findMember(members []member, key string) []byte {
	for i := range members {
		if members[i].key == key {
			return members[i].value
		}
	}
	return nil
}

// inner scans an object inside of f.
func (f *fields) inner(value []byte, prefix string) *fields {
	members, _ := scanObject(value, 0)
	return &fields{members: members, prefix: prefix, report: f.report}
}

// value returns the value of a key, nil if it is absent or of another kind, which it reports.
func (f *fields) value(key, kind string, required bool) []byte {
	value := findMember(f.members, key)
	if value == nil {
		if required {
			f.report.add(eventv1.ProtocolViolation_RULE_MISSING, f.prefix+key, "required key is missing")
		}
		return nil
	}
	if got := jsonKind(value[0]); got != kind {
		f.report.wrongType(f.prefix+key, kind, got)
		return nil
	}
	return value
}

func (f *fields) text(key string) string {
	if text := f.optionalText(key, true); text != nil {
		return *text
	}
	return ""
}

func (f *fields) optionalText(key string, required bool) *string {
	value := f.value(key, "string", required)
	if value == nil {
		return nil
	}
	text := f.report.text(value[1 : len(value)-1])
	return &text
}

func (f *fields) turnID() int64 {
	if id := f.integer("turn_id", true); id != nil {
		return *id
	}
	return 0
}

func (f *fields) integer(key string, required bool) *int64 {
	value := f.value(key, "number", required)
	if value == nil {
		return nil
	}
	number, ok := parseInt64(value)
	if !ok {
		f.outOfRange(key, value, "int64")
		return nil
	}
	return &number
}

func (f *fields) double(key string) *float64 {
	value := f.value(key, "number", true)
	if value == nil {
		return nil
	}
	number, ok := parseDouble(value)
	if !ok {
		f.outOfRange(key, value, "double")
		return nil
	}
	return &number
}

func (f *fields) boolean(key string) bool {
	value := f.value(key, "boolean", true)
	return value != nil && value[0] == 't'
}

func (f *fields) outOfRange(key string, number []byte, kind string) {
	shown := number[:min(len(number), shownNumberBytes)]
	detail := string(shown) + " does not fit " + kind
	f.report.add(eventv1.ProtocolViolation_RULE_OUT_OF_RANGE, f.prefix+key, detail)
}
