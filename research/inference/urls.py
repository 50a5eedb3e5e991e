"""Addresses of captioning models: their runs, what they made, and the workers that run them."""

from django.urls import path

from research.inference.views import captions, embeddings, models, runs

app_name = "inference"
ONE = "models/<int:model_id>"
RUN = "models/runs/<int:run_id>"
TRAINING = "models/trainings/<int:training_id>"
SET = "models/embeddings/<int:set_id>"
urlpatterns = [
    path("models/", models.model_list, name="model-list"),
    path("models/new/", models.model_create, name="model-create"),
    path("models/translators/new/", models.translator_create, name="translator-create"),
    path("models/captions/<int:caption_id>/switch/", captions.caption_switch, name="caption-switch"),
    path("models/gallery/", captions.gallery, name="gallery"),
    path("models/workers/", runs.worker_list, name="worker-list"),
    path(f"{ONE}/", models.model_show, name="model-show"),
    path(f"{ONE}/owner/", models.model_owner, name="model-owner"),
    path(f"{ONE}/edit/", models.model_edit, name="model-edit"),
    path(f"{ONE}/delete/", models.model_delete, name="model-delete"),
    path(f"{ONE}/merge/", models.model_merge, name="model-merge"),
    path(f"{ONE}/retire/", models.model_retire, name="model-retire"),
    path(f"{ONE}/try/", runs.model_try, name="model-try"),
    path(f"{ONE}/stabilisers/", models.model_stabilisers, name="model-stabilisers"),
    path(f"{ONE}/stabilisers/<slug:slug>.csv", models.stabilisers_export, name="stabilisers-export"),
    path("models/runs/", runs.run_list, name="run-list"),
    path("models/runs/new/", runs.run_create, name="run-create"),
    path(f"{RUN}/", runs.run_show, name="run-show"),
    path(f"{RUN}/owner/", runs.run_owner, name="run-owner"),
    path(f"{RUN}/progress/", runs.run_progress, name="run-progress"),
    path(f"{RUN}/failures/", runs.run_failures, name="run-failures"),
    *(
        path(f"{RUN}/{action}/", runs.run_steer, {"action": action}, name=f"run-{action}")
        for action in runs.RUN_ACTIONS
    ),
    path("models/trainings/", runs.training_list, name="training-list"),
    path(f"{TRAINING}/", runs.training_show, name="training-show"),
    path(f"{TRAINING}/progress/", runs.training_progress, name="training-progress"),
    path(f"{TRAINING}/card/", runs.training_card, name="training-card"),
    *(
        path(f"{TRAINING}/{action}/", runs.training_steer, {"action": action}, name=f"training-{action}")
        for action in runs.TRAINING_ACTIONS
    ),
    path("models/embeddings/", embeddings.embedding_list, name="embedding-list"),
    path("models/embeddings/new/", embeddings.embedding_create, name="embedding-create"),
    path("models/encoders/new/", embeddings.encoder_create, name="encoder-create"),
    path(f"{SET}/", embeddings.embedding_show, name="embedding-show"),
    path(f"{SET}/neighbours/<uuid:public_id>/", embeddings.embedding_neighbours, name="embedding-neighbours"),
]
