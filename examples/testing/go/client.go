// Package client is the program under test: a small client of the service.
package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// PictureOf generates a picture and returns its file.
func PictureOf(baseURL, key, prompt string) ([]byte, error) {
	body, _ := json.Marshal(map[string]any{"prompt": prompt, "width": 64, "height": 64})
	var task struct {
		PollingURL string `json:"polling_url"`
	}
	if _, err := call("POST", baseURL+"/v1/gen-2-pro", key, body, &task); err != nil {
		return nil, err
	}
	for {
		var answer struct {
			Status string
			Result struct{ Sample string }
		}
		status, err := call("GET", task.PollingURL, key, nil, &answer)
		switch {
		case status >= 500:
			continue
		case err != nil:
			return nil, err
		case answer.Status == "Ready":
			picture, err := http.Get(answer.Result.Sample)
			if err != nil {
				return nil, err
			}
			defer picture.Body.Close()
			return io.ReadAll(picture.Body)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func call(method, url, key string, body []byte, answer any) (int, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.StatusCode, fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return response.StatusCode, json.NewDecoder(response.Body).Decode(answer)
}
