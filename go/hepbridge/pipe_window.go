package hepbridge

import (
	"bytes"
	"sync"
)

const blockBytes = 64 << 10

// window holds the bytes of one pipe that the bridge has not acknowledged. One goroutine fills it,
// one sends from it, one acknowledges.
//
// Up to memoryLimit bytes it lies in memory. Beyond that the pipe is not read, so that the agent
// waits, but in two cases, where what comes goes to the spill file, up to its limit:
//   - drain was called: an agent that is to end must be able to write its last frames, and fa does
//     not even see a signal while it waits for a pipe;
//   - the bytes held are one line that has not ended: the bridge acknowledges whole lines.
type window struct {
	memoryLimit int64
	byLine      bool
	spill       *spill
	// wake tells the sender.
	wake func()

	mu      sync.Mutex
	changed sync.Cond
	// Bytes from base to spillStart lie in blocks, those from spillStart to end in the spill file.
	// The first block starts at first <= base.
	base, first, spillStart, end int64
	blocks                       [][]byte
	// lineEnd is the end of the last whole line.
	lineEnd  int64
	draining bool
	// lastRoom is up to where bytes are taken whatever the limits: those that were in the pipe when
	// the agent exited.
	lastRoom int64
	// stopped: reading ends.
	stopped bool
	// abandoned: nobody will take the bytes.
	abandoned bool
	scratch   []byte
}

func newWindow(memoryLimit int64, byLine bool, spill *spill, wake func()) *window {
	w := &window{memoryLimit: memoryLimit, byLine: byLine, spill: spill, wake: wake}
	w.changed.L = &w.mu
	return w
}

// reserve waits until there is room and returns memory to read into; commit says how much was read.
// Nil after stop.
func (w *window) reserve() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.hasRoom() && !w.stopped {
		w.changed.Wait()
	}
	if w.stopped {
		return nil
	}
	if w.abandoned || w.goesToSpill() {
		if w.scratch == nil {
			w.scratch = make([]byte, blockBytes)
		}
		return w.scratch
	}
	return w.tail()
}

func (w *window) hasRoom() bool {
	held := w.end - w.base
	if held < w.memoryLimit || w.end < w.lastRoom || w.abandoned {
		return true
	}
	unfinishedLine := w.byLine && w.lineEnd <= w.base
	return (w.draining || unfinishedLine) && w.spill.hasRoom()
}

// goesToSpill: once bytes are in the file, those that follow go there too, until it is empty.
func (w *window) goesToSpill() bool {
	return !w.spill.failed && (w.spillStart < w.end || w.end-w.base >= w.memoryLimit)
}

// tail is the free part of the last block.
func (w *window) tail() []byte {
	used := int(w.spillStart-w.first) - (len(w.blocks)-1)*blockBytes
	if len(w.blocks) == 0 || used == blockBytes {
		w.blocks = append(w.blocks, make([]byte, blockBytes))
		used = 0
	}
	return w.blocks[len(w.blocks)-1][used:]
}

// commit takes over what was read into data, the memory that reserve gave.
func (w *window) commit(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned || len(data) == 0 {
		return
	}
	if at := bytes.LastIndexByte(data, '\n'); at >= 0 {
		w.lineEnd = w.end + int64(at) + 1
	}
	switch {
	case w.scratch == nil || &data[0] != &w.scratch[0]:
		w.spillStart += int64(len(data))
	case !w.spill.append(w.end-w.spillStart, data):
		// No disk: these bytes are kept all the same, and no more are read until there is room.
		w.keepInMemory(data)
	}
	w.end += int64(len(data))
	w.wake()
}

// keepInMemory stores what the spill file could not take. Bytes that are in the file are read back
// first, since the order is that of the offsets.
func (w *window) keepInMemory(data []byte) {
	before, err := w.spill.read(0, w.end-w.spillStart)
	if err != nil {
		// The sender will meet the same error.
		return
	}
	for _, piece := range [][]byte{before, data} {
		for len(piece) > 0 {
			n := copy(w.tail(), piece)
			w.spillStart += int64(n)
			piece = piece[n:]
		}
	}
}

// at returns bytes from offset on, at most limit of them; none if there are none yet. Fails if the
// spill file does not give back what was written.
func (w *window) at(offset int64, limit int) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if offset >= w.end || w.abandoned {
		return nil, nil
	}
	if offset >= w.spillStart {
		return w.spill.read(offset-w.spillStart, min(w.end-offset, int64(limit)))
	}
	index, start := (offset-w.first)/blockBytes, (offset-w.first)%blockBytes
	until := min(blockBytes, start+int64(limit), start+w.spillStart-offset)
	return w.blocks[index][start:until], nil
}

// held reports whether the bytes from offset on, those to come included, can still be sent. A
// finished run is opened with offsets beyond all: there is nothing to send.
func (w *window) held(offset int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return offset >= w.base
}

// size is how many bytes came so far.
func (w *window) size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// acknowledge forgets the bytes before offset.
func (w *window) acknowledge(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	offset = min(offset, w.end)
	if offset <= w.base {
		return
	}
	w.base = offset
	for len(w.blocks) > 0 && w.first+blockBytes <= min(w.base, w.spillStart) {
		w.blocks[0] = nil
		w.blocks = w.blocks[1:]
		w.first += blockBytes
	}
	if w.base == w.end && w.spillStart < w.end {
		w.spill.clear()
		w.blocks, w.first, w.spillStart = nil, w.end, w.end
	}
	w.changed.Broadcast()
}

// drain makes the window take more than its memory, see above.
func (w *window) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	w.changed.Broadcast()
}

// pipeBytes is more than a pipe holds.
const pipeBytes = 1 << 20

// drainLast is drain for an agent that has exited: what its pipe holds is taken in any case.
func (w *window) drainLast() {
	w.mu.Lock()
	w.lastRoom = w.end + pipeBytes
	w.mu.Unlock()
	w.drain()
}

// stop ends the reading.
func (w *window) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.changed.Broadcast()
}

// abandon makes the window take and forget all that comes.
func (w *window) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandoned = true
	w.blocks = nil
	w.base, w.first, w.spillStart = w.end, w.end, w.end
	w.spill.clear()
	w.changed.Broadcast()
}
