package main

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Index finds documents by their words. It may be used by several goroutines.
type Index struct {
	mu    sync.RWMutex
	docs  map[string][]string       // words of each document, each once; guarded by mu
	words map[string]map[string]int // how often each word is in which documents; guarded by mu
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{docs: map[string][]string{}, words: map[string]map[string]int{}}
}

// Put adds a document, or replaces it.
func (x *Index) Put(key, text string) {
	counts := map[string]int{}
	for _, word := range split(text) {
		counts[word]++
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(key)
	words := make([]string, 0, len(counts))
	for word, n := range counts {
		words = append(words, word)
		if x.words[word] == nil {
			x.words[word] = map[string]int{}
		}
		x.words[word][key] = n
	}
	x.docs[key] = words
}

// Remove forgets a document. It does nothing if there is none.
func (x *Index) Remove(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(key)
}

func (x *Index) removeLocked(key string) {
	for _, word := range x.docs[key] {
		delete(x.words[word], key)
		if len(x.words[word]) == 0 {
			delete(x.words, word)
		}
	}
	delete(x.docs, key)
}

// Clear forgets all documents.
func (x *Index) Clear() { x.take(NewIndex()) }

// take makes this index what another one is, which must not be used any more.
func (x *Index) take(other *Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.docs, x.words = other.docs, other.words
}

// Len is the number of documents.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.docs)
}

// Search returns the keys of the documents that have all words of a query, those first that have them most often.
func (x *Index) Search(query string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found map[string]int
	for i, word := range split(query) {
		next := map[string]int{}
		for key, n := range x.words[word] {
			if before, ok := found[key]; ok || i == 0 {
				next[key] = before + n
			}
		}
		found = next
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if n := found[b] - found[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return keys
}

// split returns the words of a text in small letters.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
