package hep

import "bytes"

// knownKeys holds every key of the catalogue. A line may bring any number of others; they are not
// kept, so that what reading a line takes stays in proportion to the line.
var knownKeys = func() map[string]string {
	keys := make(map[string]string)
	for _, key := range []string{
		"type", "hep", "fah", "session", "turn_id", "role", "delta", "id", "name", "args_summary", "update",
		"action", "elapsed_ms", "output_bytes", "detail", "message", "tool_results", "usage", "stop_reason",
		"error", "fatal", "tokens_freed", "ok", "text", "input", "output", "cost",
	} {
		keys[key] = key
	}
	return keys
}()

// knownKey returns the key whose text, escaped or not, stands between its quotes, "" if the catalogue
// does not have it. Ill-formed text never equals one.
func knownKey(inside []byte) string {
	if key, ok := knownKeys[string(inside)]; ok {
		return key
	}
	if bytes.IndexByte(inside, '\\') < 0 {
		return ""
	}
	text, _ := decodeString(inside)
	return knownKeys[text]
}
