package hepbridge

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewRunID mints a UUIDv7, as StartRun and Pipe do when none is given. Mint it yourself to know the
// id before the call, e.g. to store it: calling again with the same id and the same request gives
// the same run.
func NewRunID() string {
	var id [16]byte
	// Never fails: crypto/rand ends the program instead.
	_, _ = rand.Read(id[:])
	millis := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint32(id[:], uint32(millis>>16))
	binary.BigEndian.PutUint16(id[4:], uint16(millis))
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[:], id[:4])
	text[8] = '-'
	hex.Encode(text[9:], id[4:6])
	text[13] = '-'
	hex.Encode(text[14:], id[6:8])
	text[18] = '-'
	hex.Encode(text[19:], id[8:10])
	text[23] = '-'
	hex.Encode(text[24:], id[10:])
	return string(text[:])
}
