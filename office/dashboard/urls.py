"""Addresses of what spans projects and apps."""

from django.urls import path

from office.dashboard.views import campaigns, emails, guides, images, needs, projects

app_name = "dashboard"
urlpatterns = [
    path("needs/", needs.need_list, name="need-list"),
    path("needs/number/", needs.need_count, name="need-count"),
    path("needs/dismiss/", needs.need_dismiss, name="need-dismiss"),
    path("profile/e-mails/", emails.email_choices, name="email-choices"),
    path("e-mails/stop/<str:token>/", emails.email_stop, name="email-stop"),
    path("guides/<slug:name>/", guides.guide_show, name="guide-show"),
    path("search/", needs.search_show, name="search-show"),
    path("collections/<slug:slug>/settings/", projects.collection_settings, name="collection-settings"),
    path("collections/<slug:slug>/duplicate/", projects.collection_duplicate, name="collection-duplicate"),
    path("collections/<slug:slug>/delete/", projects.collection_delete, name="collection-delete"),
    path("collections/<slug:slug>/images/<uuid:public_id>/take-out/", projects.image_take_out, name="image-take-out"),
    path("campaign.schema.json", campaigns.campaign_schema, name="campaign-schema"),
    path("projects/new/campaign/", campaigns.campaign_create, name="campaign-create"),
    path("projects/<slug:slug>/campaign/", campaigns.campaign_show, name="campaign-show"),
    path("projects/<slug:slug>/campaign/file/", campaigns.campaign_download, name="campaign-download"),
    path("projects/<slug:slug>/images/", images.image_list, name="image-list"),
    path("projects/<slug:slug>/setup/", projects.setup_show, name="setup-show"),
    path("projects/<slug:slug>/settings/", projects.project_settings, name="project-settings"),
    path("projects/<slug:slug>/settings/duplicate/", projects.project_duplicate, name="project-duplicate"),
    path("projects/<slug:slug>/settings/archive/", projects.project_archive, name="project-archive"),
    path("projects/<slug:slug>/settings/restore/", projects.project_restore, name="project-restore"),
    path("projects/<slug:slug>/settings/delete/", projects.project_delete, name="project-delete"),
]
