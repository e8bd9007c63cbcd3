package offsite

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrKey is returned when a target was written with another key than the one at hand, or with none.
var ErrKey = errors.New("offsite: another key")

// ErrDamaged is returned for an object that is not what was uploaded.
var ErrDamaged = errors.New("offsite: the object is damaged")

// ErrIncomplete is returned when an object is missing that others name.
var ErrIncomplete = errors.New("offsite: an object is missing")

// KeyBytes is the length of a key.
const KeyBytes = 32

// ReadKey reads a key from a file: 32 bytes, or these as 64 hexadecimal digits and a line feed.
func ReadKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("backup key: %w", err)
	}
	if len(b) == KeyBytes {
		return b, nil
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(b)))
	if err != nil || len(key) != KeyBytes {
		return nil, fmt.Errorf("backup key %s: want 32 bytes, or 64 hexadecimal digits, as of `openssl rand -hex 32`", path)
	}
	return key, nil
}

// seal names objects by their content, and encrypts them if there is a key. An encrypted object is
//
//	nonce (12) | ciphertext | tag (16)
//
// where the tag covers the name of the object too, so that no object stands for another one.
type seal struct {
	aead  cipher.AEAD // nil without a key
	names []byte      // key of names
}

const sealBytes = 12 + 16 // of a sealed object, beside its content

// newSeal derives the keys. No key is none.
func newSeal(key []byte) (s seal, err error) {
	if key == nil {
		return s, nil
	}
	content, err := hkdf.Key(sha256.New, key, nil, "vigil backup content", KeyBytes)
	if err != nil {
		return s, err
	}
	if s.names, err = hkdf.Key(sha256.New, key, nil, "vigil backup names", KeyBytes); err != nil {
		return s, err
	}
	block, err := aes.NewCipher(content)
	if err == nil {
		s.aead, err = cipher.NewGCM(block)
	}
	return s, err
}

// size is that of the object with so many bytes of content.
func (s *seal) size(content int64) int64 {
	if s.aead == nil {
		return content
	}
	return content + sealBytes
}

// name is what content is called.
func (s *seal) name(content []byte) string {
	sum := sha256.Sum256(content)
	if s.aead != nil {
		h := hmac.New(sha256.New, s.names)
		h.Write(sum[:])
		h.Sum(sum[:0])
	}
	return hex.EncodeToString(sum[:])
}

// print identifies the key, and tells nothing of it; "" is none.
func (s *seal) print() string {
	if s.aead == nil {
		return ""
	}
	h := hmac.New(sha256.New, s.names)
	h.Write([]byte("vigil backup key"))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// close returns an object with the content. A nonce is drawn for each.
func (s *seal) close(name string, content []byte, random io.Reader) ([]byte, error) {
	if s.aead == nil {
		return content, nil
	}
	b := make([]byte, s.aead.NonceSize(), len(content)+sealBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, err
	}
	return s.aead.Seal(b, b, content, []byte(name)), nil
}

// open returns the content of an object.
func (s *seal) open(name string, b []byte) ([]byte, error) {
	if s.aead == nil {
		return b, nil
	}
	n := s.aead.NonceSize()
	if len(b) < sealBytes {
		return nil, fmt.Errorf("%s: %d bytes: %w", name, len(b), ErrDamaged)
	}
	content, err := s.aead.Open(nil, b[:n], b[n:], []byte(name))
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be decrypted: %w", name, ErrDamaged)
	}
	return content, nil
}
