// Makes a picture with the client of openapi-generator's `go`.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"openapi"
)

const maxPolls = 100

func main() {
	polls, err := makePicture(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(polls)
}

func makePicture(path string) (int, error) {
	configuration := openapi.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("IMAGEKILN_BASE_URL")
	client := openapi.NewAPIClient(configuration)
	keys := map[string]openapi.APIKey{"ApiKey": {Key: os.Getenv("IMAGEKILN_API_KEY")}}
	ctx := context.WithValue(context.Background(), openapi.ContextAPIKeys, keys)

	request := openapi.NewGen2Pro("a red fox in the snow")
	request.SetWidth(256)
	request.SetHeight(256)
	request.SetSeed(7)
	submission, _, err := client.GenerationAPI.Gen2Pro(ctx).Gen2Pro(*request).Execute()
	if err != nil {
		return 0, err
	}
	task := submission.AsyncResponse
	for polls := 1; polls <= maxPolls; polls++ {
		poll, _, err := client.TasksAPI.GetResult(ctx).Id(task.Id).Execute()
		if err != nil {
			return polls, err
		}
		if poll.GetStatus() == "Ready" {
			return polls, save(poll.Result.GetSample(), path)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return maxPolls, fmt.Errorf("the task %s was not ready after %d polls", task.Id, maxPolls)
}

func save(url, path string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	picture, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}
