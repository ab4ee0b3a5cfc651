package hepbridge

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

func nothing() {}

// fill commits the bytes, one read after the other.
func fill(w *window, source []byte) {
	for len(source) > 0 {
		room := w.reserve()
		n := copy(room, source[:min(len(source), 1+len(source)%997)])
		w.commit(room[:n])
		source = source[n:]
	}
}

func someBytes(n, lineBytes int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte('a' + i%26)
		if lineBytes > 0 && i%lineBytes == lineBytes-1 {
			data[i] = '\n'
		}
	}
	return data
}

func TestAWindowGivesBackWhatCameInHoweverItIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		lineBytes int
		draining  bool
		directory string
	}{
		"in memory":               {lineBytes: 100},
		"a file while draining":   {lineBytes: 100, draining: true},
		"a file for a long line":  {lineBytes: 300_000},
		"no disk while draining":  {lineBytes: 100, draining: true, directory: "missing"},
		"no disk for a long line": {lineBytes: 150_000, directory: "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			want := someBytes(1_000_000, c.lineBytes)
			w := newWindow(200_000, true, &spill{directory: filepath.Join(t.TempDir(), c.directory), limit: 1 << 20}, nothing)
			defer w.spill.close()
			if c.draining {
				w.drain()
			}
			full := make(chan struct{})
			go func() {
				defer close(full)
				fill(w, want)
			}()
			var got []byte
			acked := int64(0)
			for len(got) < len(want) {
				data, err := w.at(int64(len(got)), 1+rand.IntN(20_000))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, data...)
				// As the bridge does: whole lines.
				if end := int64(bytes.LastIndexByte(got, '\n') + 1); end > acked && rand.IntN(4) == 0 {
					acked = end
					w.acknowledge(acked)
				}
				if len(data) == 0 {
					acked = max(acked, int64(bytes.LastIndexByte(got, '\n')+1))
					w.acknowledge(acked)
				}
			}
			<-full
			if !bytes.Equal(got, want) {
				t.Error("other bytes came out")
			}
			w.acknowledge(w.size())
			if w.held(0) || !w.held(w.size()) {
				t.Error("acknowledged bytes are held")
			}
		})
	}
}

func TestAFullWindowMakesItsWriterWaitUntilThereIsRoom(t *testing.T) {
	w := newWindow(1000, true, &spill{directory: t.TempDir(), limit: 1 << 20}, nothing)
	room := w.reserve()
	n := copy(room, someBytes(2000, 100))
	w.commit(room[:n])
	if w.hasRoom() {
		t.Fatal("has room beyond its limit")
	}
	if w.spill.file != nil {
		t.Error("made a file though nobody drains")
	}
	for name, make := range map[string]func(){
		"acknowledge": func() { w.acknowledge(1500) },
		"drain":       w.drain,
		"abandon":     w.abandon,
	} {
		if make(); !w.hasRoom() {
			t.Errorf("no room after %s", name)
		}
	}
}

func TestASpillFileHasALimit(t *testing.T) {
	w := newWindow(1000, false, &spill{directory: t.TempDir(), limit: 5000}, nothing)
	defer w.spill.close()
	w.drain()
	written := 0
	for w.hasRoom() {
		room := w.reserve()
		n := copy(room, someBytes(500, 100))
		w.commit(room[:n])
		written += n
	}
	if written != 6000 {
		t.Errorf("took %d bytes", written)
	}
}
